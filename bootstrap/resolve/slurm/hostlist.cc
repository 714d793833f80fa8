#include "bootstrap/resolve/slurm/hostlist.h"

#include <algorithm>
#include <utility>

#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr size_t kMostNames = 262144;
constexpr size_t kLongestName = 255;  // DNS
constexpr uint64_t kLongestRange = 65536;
constexpr size_t kMostDigits = 18;
constexpr std::string_view kSeparators = ", \t\n";

// "a[1-2]b[3]c" = literals {"a", "b", "c"} around brackets {{1, 2}, {3}}, the numbers already padded.
struct Pattern {
  std::vector<std::string_view> literals;
  std::vector<std::vector<std::string>> brackets;
};

tl::unexpected<Error> Bad(std::string_view list, std::string why) {
  return Fail(Code::kBadEnvironment, "\"{}\" is not a host list: {}", list, why);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

tl::unexpected<Error> TooMany(std::string_view list) {
  return Bad(list, fmt::format("it has more than {} names", kMostNames));
}

// One "3" or "09-11" of a bracket; as wide as its low end is written.
Status AppendRange(std::string_view list, std::string_view range, std::vector<std::string>& numbers) {
  const size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  if (!IsNumber(low) || !IsNumber(high)) {
    return Bad(list, fmt::format("\"{}\" is not a number or a range such as 1-4", range));
  }
  const uint64_t first = *ParseInteger<uint64_t>(low);
  const uint64_t last = *ParseInteger<uint64_t>(high);
  if (last < first) return Bad(list, fmt::format("\"{}\" runs backwards", range));
  if (last - first >= kLongestRange) {
    return Bad(list, fmt::format("\"{}\" is longer than {} numbers", range, kLongestRange));
  }
  for (uint64_t number = first; number <= last; ++number) {
    numbers.push_back(fmt::format("{:0{}}", number, low.size()));
  }
  return {};
}

Result<Pattern> ParsePattern(std::string_view list, std::string_view text) {
  Pattern pattern;
  // Both limits hold before anything is written out: a variable of some kilobytes could need gigabytes.
  size_t names = 1;
  size_t length = 0;
  while (true) {
    const size_t open = text.find_first_of("[]");
    pattern.literals.push_back(text.substr(0, open));
    length +=
        pattern.literals.back().size() + (pattern.brackets.empty() ? 0 : pattern.brackets.back()[0].size());
    if (length > kLongestName)
      return Bad(list, fmt::format("a name is longer than {} characters", kLongestName));
    if (open == std::string_view::npos) return pattern;
    if (text[open] == ']') return Bad(list, "a \"]\" without its \"[\"");
    const size_t close = text.find_first_of("[]", open + 1);
    if (close == std::string_view::npos || text[close] == '[') return Bad(list, "a \"[\" without its \"]\"");
    std::vector<std::string> numbers;
    for (const std::string_view range : Split(text.substr(open + 1, close - open - 1), ',')) {
      MUSTER_CHECK(AppendRange(list, range, numbers));
      if (numbers.size() > kMostNames) return TooMany(list);
    }
    names *= numbers.size();
    if (names > kMostNames) return TooMany(list);
    pattern.brackets.push_back(std::move(numbers));
    text.remove_prefix(close + 1);
  }
}

// Slurm expands the last bracket innermost and, of the rest, the rightmost outermost: x[..]y[..]z[..] runs
// over y, then x, then z. It decides which node is the first, so it must be the same here.
std::vector<size_t> OuterToInner(size_t brackets) {
  std::vector<size_t> order;
  for (size_t i = brackets; i-- > 1;) order.push_back(i - 1);
  if (brackets > 0) order.push_back(brackets - 1);
  return order;
}

std::string Assemble(const Pattern& pattern, const std::vector<size_t>& chosen) {
  std::string name(pattern.literals[0]);
  for (size_t i = 0; i < pattern.brackets.size(); ++i) {
    name += pattern.brackets[i][chosen[i]];
    name += pattern.literals[i + 1];
  }
  return name;
}

Status AppendNames(std::string_view list, const Pattern& pattern, std::vector<std::string>& names) {
  size_t count = 1;
  for (const auto& numbers : pattern.brackets) count *= numbers.size();
  if (count > kMostNames - names.size()) return TooMany(list);
  const std::vector<size_t> order = OuterToInner(pattern.brackets.size());
  std::vector<size_t> chosen(pattern.brackets.size(), 0);
  for (size_t n = 0; n < count; ++n) {
    names.push_back(Assemble(pattern, chosen));
    for (size_t i = order.size(); i-- > 0;) {
      if (++chosen[order[i]] < pattern.brackets[order[i]].size()) break;
      chosen[order[i]] = 0;
    }
  }
  return {};
}

// The offset of the next separator outside brackets.
size_t TokenEnd(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (depth <= 0 && kSeparators.find(text[i]) != std::string_view::npos) return i;
  }
  return text.size();
}

}  // namespace

Result<std::vector<std::string>> ExpandHostlist(std::string_view text) {
  std::vector<std::string> names;
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSeparators), rest.size()));
    if (rest.empty()) break;
    const size_t end = TokenEnd(rest);
    MUSTER_TRY(const Pattern pattern, ParsePattern(text, rest.substr(0, end)));
    MUSTER_CHECK(AppendNames(text, pattern, names));
    rest.remove_prefix(end);
  }
  if (names.empty()) return Bad(text, "it is empty");
  return names;
}

}  // namespace muster::resolve
