#include "comm/rendezvous/control/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

using testing::ElementsAre;

const Roster kFourRanks{
    "", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}, {1, 1, 4, {}}}};

Exchange Part(int rank, Bytes bytes) { return {"x", 1000, {{rank, std::move(bytes)}}}; }

TEST(Census, AnExchangeIsCompleteWithItsLastPart) {
  Census census(kFourRanks);
  EXPECT_TRUE(census.IsUnknown("x"));
  EXPECT_EQ(census.Contribute(Part(3, {3})), std::nullopt);
  EXPECT_FALSE(census.IsUnknown("x"));
  EXPECT_EQ(census.Contribute({"x", 0, {{1, {1}}, {0, {}}}}), std::nullopt);
  const auto whole = census.Contribute(Part(2, {2}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, (Exchange{"x", 0, {{0, {}}, {1, {1}}, {2, {2}}, {3, {3}}}}));
}

TEST(Census, ALateCopyStartsNothing) {
  Census census(kFourRanks);
  for (int rank = 0; rank < 4; ++rank) census.Contribute(Part(rank, {}));
  EXPECT_EQ(census.Contribute(Part(0, {1})), std::nullopt);
  EXPECT_FALSE(census.IsUnknown("x"));
  EXPECT_EQ(census.GiveUp("x", std::chrono::seconds(1)), std::nullopt);
}

TEST(Census, TheFirstOfTwoPartsCounts) {
  Census census(kFourRanks);
  census.Contribute(Part(0, {1}));
  census.Contribute(Part(0, {2}));
  census.Contribute(Part(-1, {}));
  census.Contribute(Part(4, {}));
  census.Contribute(Part(1, {}));
  census.Contribute(Part(2, {}));
  const auto whole = census.Contribute(Part(3, {}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->entries.front().second, Bytes{1});
  EXPECT_EQ(whole->entries.size(), 4u);
}

TEST(Census, GivingUpNamesWhoIsMissing) {
  Census census(kFourRanks);
  EXPECT_EQ(census.GiveUp("x", std::chrono::seconds(1)), std::nullopt);
  census.Contribute(Part(1, {}));
  const auto failure = census.GiveUp("x", std::chrono::seconds(90));
  ASSERT_TRUE(failure);
  EXPECT_EQ(*failure,
            (Failure{{Code::kDeadline,
                      "the exchange \"x\" was not complete after 1m30s: ranks 0 on gpu01, 2,3 on gpu02 "
                      "did not take part",
                      ""},
                     0,
                     -1,
                     ""}));
}

TEST(Census, AnExchangeThatWaitsForARankThatHasLeftIsHopeless) {
  Census census(kFourRanks);
  census.Goodbye({2});
  EXPECT_EQ(census.FindHopeless(census.left()), std::nullopt);
  Exchange part{"program 0/data endpoints", 1000, {{1, {}}}};
  census.Contribute(part);
  const auto failure = census.FindHopeless(census.left());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.code, Code::kPeerLost);
  EXPECT_EQ(failure->error.message, "rank 2 on gpu02 ended before it took part in \"data endpoints\"");
  EXPECT_EQ(failure->rank, 2);
}

TEST(Census, CountsWhoHasLeft) {
  Census census(kFourRanks);
  EXPECT_THAT(census.Goodbye({1, 2, 99, -1}), ElementsAre(1, 2));
  EXPECT_TRUE(census.HasLeft(1));
  EXPECT_FALSE(census.HasLeft(0));
  EXPECT_TRUE(census.AllHaveLeft({1, 2}));
  EXPECT_FALSE(census.AllHaveLeft({1, 3}));
  EXPECT_TRUE(census.AllHaveLeft({}));
  EXPECT_FALSE(census.Empty());
  EXPECT_THAT(census.Goodbye({0, 3, 3, 1}), ElementsAre(0, 3)) << "1 had left before";
  EXPECT_TRUE(census.Empty());
}

TEST(DescribeRanks, GroupsThemByNode) {
  EXPECT_EQ(DescribeRanks(kFourRanks, {2}), "rank 2 on gpu02");
  EXPECT_EQ(DescribeRanks(kFourRanks, {3, 1, 0}), "ranks 0,1 on gpu01, 3 on gpu02");
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
}

}  // namespace
}  // namespace muster
