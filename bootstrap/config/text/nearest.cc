#include "bootstrap/config/text/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace muster::config {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string_view Nearest(std::string_view text, std::span<const std::string_view> candidates) {
  constexpr size_t kLongest = 64;
  if (text.size() > kLongest) return {};
  std::string_view nearest;
  constexpr size_t kShort = 3;
  size_t best = (text.size() <= kShort ? 1 : std::max<size_t>(2, text.size() / 3)) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(text, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace muster::config
