// How `muster resolve` says what it found: JSON, shell lines, text for a person. Pure formatting.
#pragma once

#include <string>

#include "bootstrap/resolve/detect.h"

namespace muster::resolve {

// One line, keys in the order of the documentation, newline at the end.
std::string ResolveJson(const Resolution& resolution);
std::string ResolveJson(const Refusal& refusal);

// `export RANK=5` lines for eval in a shell; what is unknown is unset, so that nothing stale stays beside
// them.
std::string ResolveExport(const Resolution& resolution);

// The verdict, every field with the variable it came from, every other launcher and why it lost, what to do.
std::string ResolveText(const Resolution& resolution);
std::string ResolveText(const Refusal& refusal);

}  // namespace muster::resolve
