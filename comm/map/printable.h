// Keys of items in text for a person. A newline would divide a line of the log, and a terminal obeys escape sequences.
#pragma once

#include <string>
#include <string_view>

namespace muster::map {

// The key; a control character is "%0A".
std::string Printable(std::string_view key);

}  // namespace muster::map
