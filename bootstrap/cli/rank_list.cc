#include "bootstrap/cli/rank_list.h"

#include <set>

#include "comm/base/parse.h"

namespace muster::cli {
namespace {

constexpr size_t kMostRanks = 4096;

}  // namespace

Result<std::vector<int>> ParseRankList(std::string_view text, std::string_view flag) {
  std::set<int> ranks;
  for (const std::string_view part : Split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = ParseInteger<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseInteger<int>(part.substr(dash + 1));
    const bool fits = first && last && *first >= 0 && *last >= *first &&
                      static_cast<size_t>(*last - *first) < kMostRanks - ranks.size();
    if (!fits) {
      return WithHint(Fail(Code::kUsage, "{} \"{}\" is not a list of ranks", flag, text),
                      "write it as 0-3,7; at most 4096 ranks");
    }
    for (int rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return std::vector<int>(ranks.begin(), ranks.end());
}

}  // namespace muster::cli
