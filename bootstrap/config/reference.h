// configs/REFERENCE.md: every key for a person.
#pragma once

#include <string>

namespace muster::config {

// A Markdown table, from the table of keys.
std::string ReferenceText();

}  // namespace muster::config
