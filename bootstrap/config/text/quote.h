// Text between quotes where a format asks for them.
#pragma once

#include <string>
#include <string_view>

namespace muster::config {

// In double quotes, control characters escaped. `text` must be UTF-8. JSON strings are YAML too.
std::string JsonQuoted(std::string_view text);

// As it is where YAML reads it back as this very text, also inside [] and {}; else in double quotes.
std::string YamlQuoted(std::string_view text);

// As one word of a POSIX shell, whatever the text holds.
std::string ShellQuoted(std::string_view text);

}  // namespace muster::config
