#include "bootstrap/config/text/quote.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace muster::config {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
}

// A subset of YAML's plain scalars that is easy to check.
bool IsPlain(std::string_view text) {
  constexpr std::array<std::string_view, 9> kOtherValues = {"null", "Null",  "NULL",  "true", "True",
                                                            "TRUE", "false", "False", "FALSE"};
  if (text.empty() || std::ranges::find(kOtherValues, text) != kOtherValues.end()) return false;
  // Options of programs: -m, --tasks.
  const std::string_view start = text.substr(text.starts_with("--") ? 2 : (text.starts_with("-") ? 1 : 0));
  if (start.empty() || !IsWordCharacter(start.front()) || text.back() == ':') return false;
  return std::ranges::all_of(start, [](char c) {
    return IsWordCharacter(c) || std::string_view(".-+=:@").find(c) != std::string_view::npos;
  });
}

bool IsShellWord(std::string_view text) {
  if (text.empty() || text.front() == '=') return false;
  const bool plain = std::ranges::all_of(text, [](char c) {
    return IsWordCharacter(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("-.:@%+=,{}").find(c) != std::string_view::npos;
  });
  const bool braces = text.find_first_of("{}") != std::string_view::npos;
  const bool list = text.find(',') != std::string_view::npos || text.find("..") != std::string_view::npos;
  return plain && !(braces && list);
}

}  // namespace

std::string JsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string YamlQuoted(std::string_view text) { return IsPlain(text) ? std::string(text) : JsonQuoted(text); }

std::string ShellQuoted(std::string_view text) {
  if (IsShellWord(text)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace muster::config
