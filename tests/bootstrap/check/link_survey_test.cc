#include "bootstrap/check/link_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace muster::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Tournament : public testing::TestWithParam<int> {};

TEST_P(Tournament, EveryTwoMeetExactlyOnce) {
  const int players = GetParam();
  std::set<std::pair<int, int>> met;
  for (int round = 0; round < RoundsOf(players); ++round) {
    for (int player = 0; player < players; ++player) {
      const auto opponent = OpponentOf(player, round, players);
      if (!opponent) continue;
      ASSERT_NE(*opponent, player);
      ASSERT_GE(*opponent, 0);
      ASSERT_LT(*opponent, players);
      EXPECT_EQ(OpponentOf(*opponent, round, players), player);
      if (player < *opponent) {
        EXPECT_TRUE(met.emplace(player, *opponent).second);
      }
    }
  }
  EXPECT_EQ(met.size(), static_cast<size_t>(players) * static_cast<size_t>(players - 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(Players, Tournament, testing::Values(1, 2, 3, 4, 5, 6, 7, 16, 33, 100, 201));

TEST(RoundsOf, IsAsFewAsCanBe) {
  EXPECT_EQ(RoundsOf(1), 0);
  EXPECT_EQ(RoundsOf(2), 1);
  EXPECT_EQ(RoundsOf(3), 3);
  EXPECT_EQ(RoundsOf(4), 3);
  EXPECT_EQ(RoundsOf(1000), 999);
}

TEST(OpponentOf, OneSitsOutWhereTheNumberIsOdd) {
  EXPECT_EQ(OpponentOf(0, 0, 3), std::nullopt);
  EXPECT_EQ(OpponentOf(1, 0, 3), 2);
  EXPECT_EQ(OpponentOf(2, 0, 3), 1);
}

TEST(SomeRounds, AreSpreadOverAll) {
  EXPECT_THAT(SomeRounds(1, 16), IsEmpty());
  EXPECT_THAT(SomeRounds(4, 16), ElementsAre(0, 1, 2));
  EXPECT_THAT(SomeRounds(1000, 4), ElementsAre(0, 249, 499, 749));
}

}  // namespace
}  // namespace muster::check
