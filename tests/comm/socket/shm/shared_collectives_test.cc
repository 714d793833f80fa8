// Every operation through shared memory against the plain reference: from the first call on, in slots so
// small that most data goes in many pieces, by ranks that spin and by ranks that sleep, on one node and on
// several.
#include <gtest/gtest.h>

#include <thread>

#include "comm/socket/shm/segment.h"
#include "tests/comm/socket/collective_checks.h"

namespace muster::socket {
namespace {

SocketOptions Sharing(size_t slot_bytes, bool spin) {
  SocketOptions options = SharingOptions();
  options.shared_slot_bytes = slot_bytes;
  options.spin = spin;
  return options;
}

class SharedCollectivesTest : public testing::TestWithParam<NamedLayout> {};

TEST_P(SharedCollectivesTest, AreRight) {
  const int ranks = static_cast<int>(GetParam().node_of_rank.size());
  Planner planner(static_cast<uint32_t>(ranks) * 7 + 1, ranks);
  for (const bool spin : {false, true}) {
    // More spinning threads than processors only take turns.
    if (spin && ranks > 4) continue;
    FakeWorld world(GetParam().node_of_rank, Sharing(1, spin));
    for (int i = 0; i < 3; ++i) CheckAll(world, planner.Next());
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, SharedCollectivesTest, testing::ValuesIn(ManyLayouts()), NameOf);

TEST(SharedCollectives, MoveLongData) {
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({3}), BlockLayout({2, 3})}) {
    FakeWorld world(layout, Sharing(0, false));
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      const Plan plan{type, ReduceOp::kSum, 333'333, world.size() - 1, 7};
      CheckReductions(world, plan);
      CheckBroadcastAndScatter(world, plan);
      CheckGathers(world, plan);
    }
  }
}

// Longer than what is copied past the caches, and in place.
TEST(SharedCollectives, MoveVeryLongData) {
  FakeWorld world(BlockLayout({2}), Sharing(0, true));
  world.Run([](Communicator& c) {
    std::vector<int32_t> data(3'000'001);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i) + c.rank();
    ASSERT_EQ(MessageOf(c.AllReduce(std::span(data), ReduceOp::kSum)), "");
    for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], 2 * static_cast<int32_t>(i) + 1);
  });
}

// Data that is published whole goes into one slot, the last one of the memory too.
TEST(SharedCollectives, PublishNoMoreThanTheLeastSlotHolds) {
  FakeWorld world(BlockLayout({2}), Sharing(1, true));
  world.Run([](Communicator& c) {
    for (size_t i = 0; i < 2 * kSlots; ++i) {
      std::vector<int32_t> data(2048, static_cast<int32_t>(i));
      ASSERT_EQ(MessageOf(c.AllReduce(std::span(data), ReduceOp::kSum)), "");
      ASSERT_EQ(data, std::vector<int32_t>(2048, 2 * static_cast<int32_t>(i)));
    }
  });
}

// The order of the additions shows in the last bits; it must not depend on rank, run or path.
TEST(SharedCollectives, GiveAllRanksTheSameBits) {
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    FakeWorld world(BlockLayout({5}), Sharing(1, false));
    std::vector<std::vector<float>> results(5);
    world.Run([&](Communicator& c) {
      std::vector<float>& mine = results[static_cast<size_t>(c.rank())];
      for (int i = 0; i < 3000; ++i) {
        mine.push_back(1.0F / static_cast<float>(i + 1 + c.rank() * 37));
      }
      ASSERT_EQ(MessageOf(c.AllReduce(std::span(mine), ReduceOp::kSum)), "");
    });
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
    if (run == 0) first = results[0];
    EXPECT_EQ(results[0], first);
  }
}

TEST(SharedCollectives, WorkInSubgroupsOfSubgroups) {
  FakeWorld world(BlockLayout({5, 3}), Sharing(1, false));
  world.Run([](Communicator& c) {
    auto half = c.Split(c.rank() % 2, -c.rank());
    ASSERT_TRUE(half) << half.error().message;
    auto quarter = (*half)->Split((*half)->rank() / 2, 0);
    ASSERT_TRUE(quarter) << quarter.error().message;
    for (Communicator* group : {&c, half->get(), quarter->get()}) {
      for (int i = 0; i < 5; ++i) {
        std::vector<int64_t> ones(700, 1);
        ASSERT_EQ(MessageOf(group->AllReduce(std::span(ones), ReduceOp::kSum)), "");
        EXPECT_EQ(ones, std::vector<int64_t>(700, group->size()));
        ASSERT_EQ(MessageOf(group->Barrier()), "");
      }
    }
  });
}

// A root that is ahead must not overwrite what the slow have not read.
TEST(SharedCollectives, WaitForTheSlow) {
  FakeWorld world(BlockLayout({4}), Sharing(1, false));
  world.Run([](Communicator& c) {
    for (int i = 0; i < 300; ++i) {
      int64_t value = c.rank() == i % 3 ? i : -1;
      ASSERT_EQ(MessageOf(c.Broadcast(std::span(&value, 1), i % 3)), "");
      ASSERT_EQ(value, i);
      if (c.rank() == 3 && i % 16 == 0) std::this_thread::yield();
      std::vector<int32_t> many(4000, c.rank() == i % 2 ? i : -1);
      ASSERT_EQ(MessageOf(c.Broadcast(std::span(many), i % 2)), "");
      ASSERT_EQ(many, std::vector<int32_t>(4000, i));
    }
  });
}

}  // namespace
}  // namespace muster::socket
