// Lists that stay readable on a thousand nodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

inline constexpr size_t kRangesNamed = 16;

// As FormatRanges, but at most `most` ranges: {0,2,4,...} -> "0,2,4,6 and 312 more". The numbers must be
// ascending.
std::string FormatSomeRanges(const std::vector<int>& ascending, size_t most = kRangesNamed);

// "1 rank", "8 ranks".
std::string CountRanks(size_t count);

}  // namespace muster
