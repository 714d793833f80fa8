#include "bootstrap/cli/usage/program_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace muster::cli {
namespace {

constexpr char kMark = '=';
// As editors and web pages write "-" and "--".
constexpr std::string_view kDashes[] = {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212"};

Status CheckDash(std::string_view word) {
  if (std::ranges::none_of(kDashes, [word](std::string_view dash) { return word.starts_with(dash); }))
    return {};
  const auto name =
      std::ranges::find_if(word, [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != '-'; });
  const bool is_letter = std::ranges::find(name, word.end(), '=') - name == 1;
  return WithHint(Fail(Code::kUsage, "\"{}\" begins with a dash that is no hyphen", word),
                  fmt::format("write {}{}", is_letter ? "-" : "--", std::string_view(name, word.end())));
}

}  // namespace

Status CheckDashes(const OwnOptions& own, const std::vector<std::string>& words) {
  for (size_t at = 0; at < words.size() && words[at] != "--"; ++at) {
    if (!IsOption(words[at])) return CheckDash(words[at]);
    if (own.takes_value(words[at]).value_or(false)) ++at;
  }
  return {};
}

std::vector<std::string> DivideEmptyValues(const OwnOptions& own, std::vector<std::string> words) {
  for (size_t at = 0; at < words.size() && IsOption(words[at]) && words[at] != "--"; ++at) {
    const bool empty = words[at].ends_with('=');
    const std::string name = words[at].substr(0, words[at].size() - (empty ? 1 : 0));
    if (!own.takes_value(name).value_or(false)) continue;
    words[at++] = name;
    if (empty) words.emplace(words.begin() + static_cast<ptrdiff_t>(at));
  }
  return words;
}

std::vector<std::string> MarkProgram(const OwnOptions& own, std::vector<std::string> words) {
  size_t at = 0;
  while (at < words.size() && IsOption(words[at]) && words[at] != "--") {
    const bool takes_next = own.takes_value(words[at]).value_or(false);
    ++at;
    if (!takes_next || at == words.size()) continue;
    if (words[at] == "--") {
      words.resize(at);
      return words;
    }
    ++at;
  }
  if (at == words.size()) return words;
  if (words[at] == "--") {
    ++at;
  } else {
    words.insert(words.begin() + static_cast<ptrdiff_t>(at++), "--");
  }
  for (; at < words.size(); ++at) words[at].insert(words[at].begin(), kMark);
  return words;
}

std::vector<std::string> UnmarkProgram(std::vector<std::string> marked) {
  for (std::string& word : marked) word.erase(0, 1);
  return marked;
}

}  // namespace muster::cli
