// Every operation against a plain reference, on random types, lengths and roots with fixed seeds, in worlds
// of 1 to 17 ranks on even, uneven and cyclic nodes, by the algorithms that choice.h takes.
#include "comm/socket/collectives/collectives.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <time.h>

#include <mutex>
#include <random>

#include "tests/comm/socket/collective_checks.h"

namespace muster::socket {
namespace {

class CollectivesTest : public testing::TestWithParam<NamedLayout> {
 protected:
  CollectivesTest() : world_(GetParam().node_of_rank) {}

  void Repeat(const std::function<void(FakeWorld&, const Plan&)>& check) {
    const size_t nodes = world_.state().roster().nodes.size();
    Planner planner(static_cast<uint32_t>(world_.size()) * 31 + static_cast<uint32_t>(nodes), world_.size());
    for (int i = 0; i < 4; ++i) {
      const Plan plan = planner.Next();
      SCOPED_TRACE(Describe(plan, world_.size()));
      check(world_, plan);
    }
  }

  FakeWorld world_;
};

TEST_P(CollectivesTest, Reductions) { Repeat(CheckReductions); }

TEST_P(CollectivesTest, ReduceScatter) { Repeat(CheckReduceScatter); }

TEST_P(CollectivesTest, BroadcastAndScatter) { Repeat(CheckBroadcastAndScatter); }

TEST_P(CollectivesTest, Gathers) { Repeat(CheckGathers); }

TEST_P(CollectivesTest, AllToAll) { Repeat(CheckAllToAll); }

TEST_P(CollectivesTest, BytesOfDifferentLength) { CheckBytesOfDifferentLength(world_); }

TEST_P(CollectivesTest, OneAfterTheOtherWithoutABarrier) { CheckOneAfterTheOther(world_); }

TEST(Reductions, WorkForEveryTypeAndOperation) {
  FakeWorld world(BlockLayout({3, 2}));
  CheckEveryTypeAndOperation(world);
}

// Long enough for rings and chains, which need so much for each rank.
TEST(LongData, TakesTheLongWay) {
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({1, 1}), BlockLayout({3, 2})}) {
    FakeWorld world(layout);
    CheckLongData(world);
  }
}

// Floats that do round: every rank must round alike, and again in the next run.
TEST(Reproducible, BitForBitOnEveryRankAndInEveryRun) {
  for (const size_t count : {5UL, 3000UL, 20'000UL, 200'000UL}) {
    std::vector<std::vector<float>> results;
    for (int run = 0; run < 2; ++run) {
      FakeWorld world(BlockLayout({3, 1, 3}));
      std::mutex mutex;
      world.Run([&](Communicator& c) {
        std::mt19937 random(static_cast<uint32_t>(c.rank()));
        std::vector<float> data(count);
        for (float& value : data) value = std::uniform_real_distribution<float>(-1, 1)(random);
        ASSERT_EQ(MessageOf(c.AllReduce(std::span(data), ReduceOp::kSum)), "");
        const std::lock_guard lock(mutex);
        results.push_back(data);
      });
    }
    for (const std::vector<float>& result : results) EXPECT_TRUE(result == results.front()) << count;
  }
}

Duration OwnProcessorTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// A rank that waits leaves the processor to the one that is waited for, also if it may spin first.
TEST(Waiting, IsNotSpinning) {
  for (const bool spin : {false, true}) {
    SocketOptions options = TestOptions();
    options.spin = spin;
    FakeWorld world(BlockLayout({3, 1}), options);
    const auto meet = [](Communicator& c) { EXPECT_EQ(MessageOf(c.Barrier()), ""); };
    world.Run(meet);
    world.Run([&](Communicator& c) {
      pollfd nothing{-1, 0, 0};
      if (c.rank() == 0) {
        EXPECT_EQ(poll(&nothing, 1, 500), 0);
      }
      const Duration before = OwnProcessorTime();
      meet(c);
      EXPECT_LT(OwnProcessorTime() - before, std::chrono::milliseconds(100)) << c.rank();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, CollectivesTest, testing::ValuesIn(ManyLayouts()), NameOf);

}  // namespace
}  // namespace muster::socket
