// The output of `muster resolve`: JSON, shell lines, text for a user. Pure formatting.
#pragma once

#include <string>

#include "bootstrap/resolve/detect.h"

namespace muster::resolve {

// One line, keys in the order of the documentation, newline at the end.
std::string ResolveJson(const Resolution& resolution);
std::string ResolveJson(const Refusal& refusal);

// `export RANK=5` lines for eval in a shell; an unknown field's variable is unset, so that nothing stale
// stays.
std::string ResolveExport(const Resolution& resolution);

// The verdict, every field with its variable, every other launcher and why it lost, the remedy.
std::string ResolveText(const Resolution& resolution);
std::string ResolveText(const Refusal& refusal);

}  // namespace muster::resolve
