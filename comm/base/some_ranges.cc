#include "comm/base/some_ranges.h"

#include <fmt/core.h>

#include "comm/base/parse.h"

namespace muster {

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

std::string CountRanks(size_t count) { return fmt::format("{} rank{}", count, count == 1 ? "" : "s"); }

}  // namespace muster
