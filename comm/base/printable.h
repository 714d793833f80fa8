// Text from another process or a file, for a person. A newline would divide a line of the log, and a terminal obeys escape
// sequences.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The text; a control character (C0, DEL, C1) is "%0A". Characters of UTF-8 and of `kept` stay.
std::string Printable(std::string_view text, std::string_view kept = "");

}  // namespace muster
