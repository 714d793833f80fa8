#include "comm/base/lists.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr size_t kMostDigits = 18;

// "gpu007" = {"gpu", "007"}; no number: the whole name is the prefix.
std::pair<std::string_view, std::string_view> SplitNumber(std::string_view name) {
  size_t start = name.size();
  while (start > 0 && name.size() - start < kMostDigits && name[start - 1] >= '0' && name[start - 1] <= '9')
    --start;
  return {name.substr(0, start), name.substr(start)};
}

struct Run {
  std::string_view low;
  std::string high;
  uint64_t last = 0;
};

bool Extend(Run& run, std::string_view number) {
  const std::string next = fmt::format("{:0{}}", run.last + 1, run.low.size());
  if (next != number) return false;
  run.high = next;
  ++run.last;
  return true;
}

void AppendGroup(std::string_view prefix, const std::vector<Run>& runs, std::string& out) {
  if (!out.empty()) out += ',';
  out += prefix;
  if (runs.size() == 1 && runs[0].high == runs[0].low) {
    out += runs[0].low;
    return;
  }
  out += '[';
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) out += ',';
    out += runs[i].low;
    if (runs[i].high != runs[i].low) out += "-" + runs[i].high;
  }
  out += ']';
}

}  // namespace

std::string FormatRanges(const std::vector<int>& ascending) {
  std::string text;
  for (size_t first = 0; first < ascending.size();) {
    size_t last = first;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ascending[first]);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(ascending[last]);
    first = last + 1;
  }
  return text;
}

std::string FormatSomeRanges(const std::vector<int>& ascending, size_t most) {
  size_t ranges = 0;
  for (size_t i = 0; i < ascending.size(); ++i) {
    if (i > 0 && ascending[i] == ascending[i - 1] + 1) continue;
    if (++ranges <= most) continue;
    const std::vector<int> named(ascending.begin(), ascending.begin() + static_cast<std::ptrdiff_t>(i));
    return fmt::format("{} and {} more", FormatRanges(named), ascending.size() - i);
  }
  return FormatRanges(ascending);
}

std::string FormatRanks(const std::vector<int>& ascending, std::string_view node) {
  return fmt::format("{} {}{}{}", ascending.size() == 1 ? "rank" : "ranks", FormatSomeRanges(ascending),
                     node.empty() ? "" : " on ", node);
}

std::string DescribeRank(int rank, std::string_view node) { return FormatRanks({rank}, node); }

std::string Counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string FormatNodes(const std::vector<std::string>& names) {
  std::string out;
  std::optional<std::string_view> prefix;
  std::vector<Run> runs;
  for (const std::string& name : names) {
    const auto [name_prefix, number] = SplitNumber(name);
    if (prefix && (*prefix != name_prefix || number.empty())) {
      AppendGroup(*prefix, runs, out);
      prefix.reset();
      runs.clear();
    }
    if (number.empty()) {
      AppendGroup(name, {Run{}}, out);
      continue;
    }
    prefix = name_prefix;
    if (runs.empty() || !Extend(runs.back(), number)) {
      runs.push_back({number, std::string(number), *ParseInteger<uint64_t>(number)});
    }
  }
  if (prefix) AppendGroup(*prefix, runs, out);
  return out;
}

std::string FormatSomeNodes(const std::vector<std::string>& names, size_t most) {
  const auto first = [&names](size_t count) {
    const std::string text = FormatNodes({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count)});
    return count == names.size() ? text : fmt::format("{} and {} more", text, names.size() - count);
  };
  std::string whole = first(names.size());
  if (whole.size() <= most) return whole;
  size_t fits = 1;
  for (size_t too_many = names.size(); too_many - fits > 1;) {
    const size_t middle = fits + (too_many - fits) / 2;
    (first(middle).size() <= most ? fits : too_many) = middle;
  }
  return first(fits);
}

}  // namespace muster
