#include "comm/base/some_ranges.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(FormatSomeRanges, IsAllOfThemWhereTheyAreFew) {
  EXPECT_EQ(FormatSomeRanges({}), "");
  EXPECT_EQ(FormatSomeRanges({5}), "5");
  EXPECT_EQ(FormatSomeRanges({0, 1, 2, 3, 7, 8}), "0-3,7,8");
  EXPECT_EQ(FormatSomeRanges({0, 2, 4}, 3), "0,2,4");
}

TEST(FormatSomeRanges, CountsTheRest) {
  std::vector<int> even;
  for (int rank = 0; rank < 640; rank += 2) even.push_back(rank);
  EXPECT_EQ(FormatSomeRanges(even), "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 and 304 more");
  EXPECT_EQ(FormatSomeRanges({0, 1, 2, 5, 6, 9}, 2), "0-2,5,6 and 1 more");
}

TEST(CountRanks, KnowsOne) {
  EXPECT_EQ(CountRanks(1), "1 rank");
  EXPECT_EQ(CountRanks(8), "8 ranks");
}

}  // namespace
}  // namespace muster
