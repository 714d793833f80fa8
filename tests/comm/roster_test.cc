#include "comm/roster.h"

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

}  // namespace
}  // namespace muster
