// Text between quotes if a format requires them, and lists of texts.
#pragma once

#include <string>
#include <string_view>

namespace muster::config {

// In double quotes, control characters escaped. `text` must be UTF-8. JSON strings are YAML too.
std::string JsonQuoted(std::string_view text);

// Unchanged if YAML reads it back as the same text, also inside [] and {}; else in double quotes.
std::string YamlQuoted(std::string_view text);

// As one word of a shell, for any text; bash and zsh expand a{b,c}, {1..3} and a leading = too.
std::string ShellQuoted(std::string_view text);

// The results of `text_of`, with `separator` between them.
template <typename Items, typename TextOf>
std::string Joined(const Items& items, std::string_view separator, TextOf text_of) {
  std::string joined;
  for (const auto& item : items) {
    if (!joined.empty()) joined += separator;
    joined += text_of(item);
  }
  return joined;
}

}  // namespace muster::config
