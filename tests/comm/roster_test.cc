#include "comm/roster.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;

// Ranks 0 and 3 on gpu01, with their local ranks the other way round.
Roster Example() {
  Roster roster;
  roster.nodes = {{"gpu01", {}}, {"gpu02", {}}};
  roster.members = {{0, 1, 10, {}}, {1, 0, 11, {}}, {1, 1, 12, {}}, {0, 0, 13, {}}};
  return roster;
}

TEST(Roster, KnowsWhoIsWhere) {
  const Roster roster = Example();
  EXPECT_EQ(roster.size(), 4);
  EXPECT_EQ(roster.NodeOf(2), 1);
  EXPECT_EQ(roster.NodeName(2), "gpu02");
  EXPECT_THAT(roster.RanksOn(0), ElementsAre(3, 0));
  EXPECT_THAT(roster.RanksOn(1), ElementsAre(1, 2));
  EXPECT_EQ(roster.LocalSize(0), 2);
  EXPECT_EQ(roster.LocalSize(7), 0);
}

TEST(Roster, DescribesARankAlsoWhereThereIsNone) {
  EXPECT_EQ(DescribeRank(Example(), 2), "rank 2 on gpu02");
  EXPECT_EQ(DescribeRank(Example(), 4), "rank 4");
  EXPECT_EQ(DescribeRank(Example(), -1), "rank -1");
  EXPECT_EQ(DescribeRank(Roster{}, 0), "rank 0");
}

TEST(DescribeRanks, GroupsThemByNode) {
  EXPECT_EQ(DescribeRanks(Example(), {2}), "rank 2 on gpu02");
  EXPECT_EQ(DescribeRanks(Example(), {3, 1, 0}), "ranks 0,3 on gpu01, 1 on gpu02");
}

TEST(DescribeRanksBriefly, GroupsThemByNode) {
  EXPECT_EQ(DescribeRanksBriefly(Example(), {2}), "rank 2 (gpu02)");
  EXPECT_EQ(DescribeRanksBriefly(Example(), {0, 1, 3}), "ranks 0,3 (gpu01), 1 (gpu02)");
}

TEST(DescribeRanks, CountsTheNodesOfAThousand) {
  Roster roster;
  std::vector<int> ranks;
  for (int rank = 0; rank < 8000; ++rank) {
    if (rank % 8 == 0) roster.nodes.push_back({fmt::format("n{:03}", rank / 8), {}});
    roster.members.push_back({rank / 8, rank % 8, rank, {}});
    ranks.push_back(rank);
  }
  const std::string text = DescribeRanks(roster, ranks);
  EXPECT_THAT(text, testing::StartsWith("ranks 0-7 on n000, 8-15 on n001, "));
  EXPECT_THAT(text, testing::EndsWith(", 120-127 on n015 and 7872 ranks on 984 nodes more"));
  EXPECT_EQ(DescribeRanksBriefly(roster, ranks), "ranks 0-7999 (1000 nodes)");
}

}  // namespace
}  // namespace muster
