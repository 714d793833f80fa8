#include "comm/base/lists.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(FormatRanges, CompressesRuns) {
  EXPECT_EQ(FormatRanges({}), "");
  EXPECT_EQ(FormatRanges({7}), "7");
  EXPECT_EQ(FormatRanges({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(FormatRanges({1, 2, 4, 6, 7, 8}), "1,2,4,6-8");
}

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

TEST(FormatRanks, KnowsOne) {
  EXPECT_EQ(FormatRanks({5}), "rank 5");
  EXPECT_EQ(FormatRanks({0, 1, 2, 3, 7}), "ranks 0-3,7");
  EXPECT_EQ(FormatRanks({0, 1, 2, 3}, "gpu03"), "ranks 0-3 on gpu03");
}

TEST(DescribeRank, KnowsRanksWithoutANode) {
  EXPECT_EQ(DescribeRank(5, "gpu03"), "rank 5 on gpu03");
  EXPECT_EQ(DescribeRank(5, ""), "rank 5");
}

TEST(Counted, KnowsOne) {
  EXPECT_EQ(Counted(1, "rank"), "1 rank");
  EXPECT_EQ(Counted(8, "rank"), "8 ranks");
}

TEST(FormatSomeNodes, KeepsTheLimit) {
  std::vector<std::string> names;
  for (int node = 0; node < 500; ++node) names.push_back(fmt::format("gpu{:03}", 2 * node % 1000));
  const std::string whole = FormatNodes(names);
  EXPECT_EQ(FormatSomeNodes(names, whole.size()), whole);
  for (size_t most = 40; most < whole.size(); most += 7) {
    const std::string some = FormatSomeNodes(names, most);
    EXPECT_LE(some.size(), most);
    EXPECT_GT(some.size(), most - 8) << some;
  }
  EXPECT_EQ(FormatSomeNodes(names, 32), "gpu[000,002,004] and 497 more");
  EXPECT_EQ(FormatSomeNodes(names, 0), "gpu000 and 499 more");
  EXPECT_EQ(FormatSomeNodes({}, 10), "");
}

TEST(FormatNodes, FindsRuns) {
  EXPECT_EQ(FormatNodes({}), "");
  EXPECT_EQ(FormatNodes({"gpu07"}), "gpu07");
  EXPECT_EQ(FormatNodes({"gpu01", "gpu02", "gpu03", "gpu07"}), "gpu[01-03,07]");
  EXPECT_EQ(FormatNodes({"n9", "n10"}), "n[9-10]");
  EXPECT_EQ(FormatNodes({"n09", "n010"}), "n[09,010]");
  EXPECT_EQ(FormatNodes({"r3", "r1", "r2"}), "r[3,1-2]");
  EXPECT_EQ(FormatNodes({"a", "b", "a"}), "a,b,a");
  EXPECT_EQ(FormatNodes({"a1", "b1", "login", "a2", "a3"}), "a1,b1,login,a[2-3]");
  EXPECT_EQ(FormatNodes({"n1-ib", "n2-ib"}), "n1-ib,n2-ib");
  EXPECT_EQ(FormatNodes({"n1", "n1"}), "n[1,1]");
}

}  // namespace
}  // namespace muster
