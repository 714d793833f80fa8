#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/socket/split_checks.h"

namespace muster::socket {
namespace {

TEST(Split, OrdersByKeyThenByRankAndRenumbersTheRoster) {
  FakeWorld world(BlockLayout({2, 2, 2}));
  CheckSplitOrder(world);
}

TEST(Split, GivesNothingForANegativeColour) {
  FakeWorld world(BlockLayout({3}));
  CheckSplitOfSome(world);
}

TEST(Split, MayBeSplitAgainAndOutliveItsParent) {
  FakeWorld world(BlockLayout({4, 4}));
  CheckSplitAgain(world);
}

TEST(Split, PartsWorkAtTheSameTimeAsTheWhole) {
  FakeWorld world(BlockLayout({2, 2}));
  CheckPartsAtTheSameTime(world);
}

TEST(Split, NamesRanksOfTheWholeGroupInItsErrors) {
  FakeWorld world(BlockLayout({2, 2}));
  const std::vector<std::string> messages = world.Messages([](Communicator& c) -> Status {
    MUSTER_TRY(auto part, c.Split(c.rank() % 2, 0));
    if (c.rank() == 3) {
      std::vector<float> data(5);
      return part->AllReduce(std::span(data), ReduceOp::kSum);
    }
    if (c.rank() == 1) return part->Barrier();
    return c.Barrier();
  });
  EXPECT_THAT(messages,
              testing::Each("rank 1 on gpu01 is in Barrier #1, rank 3 on gpu02 in AllReduce #1 f32[5]"));
}

// Each communicator has connections of its own.
TEST(Split, MayBeRepeatedBeyondTheSoftLimitOfDescriptors) {
  SocketOptions options = TestOptions();
  options.timeouts.collective = options.timeouts.barrier = std::chrono::seconds(20);
  FakeWorld world(BlockLayout({1, 1}), options);
  const net::DescriptorLimit limit(64);
  EXPECT_THAT(world.Messages([](Communicator& c) -> Status {
    std::vector<std::unique_ptr<Communicator>> parts;
    for (int i = 0; i < 40; ++i) {
      MUSTER_TRY(parts.emplace_back(), c.Split(0, 0));
      MUSTER_CHECK(parts.back()->Barrier());
    }
    return {};
  }),
              testing::Each(""));
}

TEST(Split, OfOneIsAWorldOfOne) {
  FakeWorld world(BlockLayout({2}));
  CheckSplitOfOne(world);
}

}  // namespace
}  // namespace muster::socket
