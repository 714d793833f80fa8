// Every operation against a plain reference, on random types, lengths and roots with fixed seeds, in worlds
// of 1 to 17 ranks on even, uneven and cyclic nodes, by the algorithms that choice.h takes.
#include "comm/socket/collectives.h"

#include <gtest/gtest.h>

#include <mutex>
#include <random>

#include "tests/comm/socket/collective_checks.h"

namespace muster {
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

TEST_P(CollectivesTest, OneAfterTheOtherWithoutABarrier) {
  world_.Run([&](Communicator& c) {
    for (int i = 0; i < 20; ++i) {
      int64_t sum = c.rank() + i;
      ASSERT_EQ(MessageOf(c.AllReduce(std::span(&sum, 1), ReduceOp::kSum)), "");
      EXPECT_EQ(sum, c.size() * (c.size() - 1) / 2 + i * c.size());
      int32_t word = c.rank() == i % c.size() ? i : -1;
      ASSERT_EQ(MessageOf(c.Broadcast(std::span(&word, 1), i % c.size())), "");
      EXPECT_EQ(word, i);
      ASSERT_EQ(MessageOf(c.Barrier()), "");
    }
  });
}

TEST(Reductions, WorkForEveryTypeAndOperation) {
  FakeWorld world(BlockLayout({3, 2}));
  world.Run([&](Communicator& c) {
    uint64_t seed = 0;
    for (const DataType type : kAllTypes) {
      for (const ReduceOp operation : kAllOps) {
        Bytes data = ElementsOf(type, operation, ++seed, c.rank(), 50);
        ASSERT_EQ(MessageOf(c.AllReduce(Whole(data, type), Whole(data, type), operation)), "");
        EXPECT_EQ(data, ReducedElements(type, operation, seed, c.size(), 50))
            << Name(type) << " " << Name(operation);
      }
    }
  });
}

// Long enough for rings and chains, which need so much for each rank.
TEST(LongData, TakesTheLongWay) {
  constexpr size_t kCount = 400'000;
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({1, 1}), BlockLayout({3, 2})}) {
    FakeWorld world(layout);
    const Bytes sum = ReducedElements(DataType::kF32, ReduceOp::kSum, 5, world.size(), kCount);
    const int root = world.size() - 1;
    world.Run([&](Communicator& c) {
      const Bytes mine = ElementsOf(DataType::kF32, ReduceOp::kSum, 5, c.rank(), kCount);
      Bytes send = mine;
      Bytes receive(send.size());
      ASSERT_EQ(
          MessageOf(c.AllReduce(Whole(send, DataType::kF32), Whole(receive, DataType::kF32), ReduceOp::kSum)),
          "");
      EXPECT_TRUE(receive == sum);
      receive.assign(send.size(), 0);
      ASSERT_EQ(MessageOf(c.Reduce(Whole(send, DataType::kF32), Whole(receive, DataType::kF32),
                                   ReduceOp::kSum, root)),
                "");
      EXPECT_TRUE(c.rank() != root || receive == sum);
      EXPECT_TRUE(send == mine);
      Bytes data = c.rank() == root ? sum : Bytes(sum.size());
      ASSERT_EQ(MessageOf(c.Broadcast(Whole(data, DataType::kF32), root)), "");
      EXPECT_TRUE(data == sum);
      ASSERT_EQ(
          MessageOf(c.AllReduce(Whole(send, DataType::kF32), Whole(send, DataType::kF32), ReduceOp::kSum)),
          "");
      EXPECT_TRUE(send == sum) << "in place";
    });
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

std::string NameOf(const testing::TestParamInfo<NamedLayout>& layout) {
  return fmt::format("{}_{}", layout.param.name, layout.param.node_of_rank.size());
}
INSTANTIATE_TEST_SUITE_P(Layouts, CollectivesTest, testing::ValuesIn(ManyLayouts()), NameOf);

}  // namespace
}  // namespace muster
