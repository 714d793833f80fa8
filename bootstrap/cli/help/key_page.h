// The keys of the configuration as pages of text, from the table that the parser has.
#pragma once

#include <string>
#include <string_view>

#include "bootstrap/cli/help/layout.h"
#include "bootstrap/config/table.h"

namespace muster::cli {

// `muster help keys`: the keys of a section with their defaults; empty: all.
std::string KeysPage(std::string_view section, const Style& style);

// `muster help KEY`: meaning, type, default and variable.
std::string KeyPage(const config::Key& key, const Style& style);

}  // namespace muster::cli
