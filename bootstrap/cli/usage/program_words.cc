#include "bootstrap/cli/usage/program_words.h"

#include <utility>

namespace muster::cli {
namespace {

constexpr char kMark = '=';

}  // namespace

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
