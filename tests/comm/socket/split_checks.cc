#include "tests/comm/socket/split_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using testing::ElementsAre;

int64_t SumOfRanks(Communicator& c, int64_t value) {
  EXPECT_EQ(MessageOf(c.AllReduce(std::span(&value, 1), ReduceOp::kSum)), "");
  return value;
}

}  // namespace

void CheckSplitOrder(World& world) {
  world.Run([](Communicator& c) {
    // Odd ranks, the last first; even ranks as they are.
    const bool odd = c.rank() % 2 == 1;
    auto split = c.Split(odd ? 7 : 0, odd ? -c.rank() : 0);
    ASSERT_TRUE(split) << split.error().message;
    Communicator& part = **split;
    EXPECT_EQ(part.size(), 3);
    EXPECT_EQ(part.rank(), odd ? (5 - c.rank()) / 2 : c.rank() / 2);
    EXPECT_EQ(part.node(), c.node());
    EXPECT_EQ(part.backend(), c.backend());
    std::vector<std::string> nodes;
    for (const Roster::Node& node : part.roster().nodes) nodes.push_back(node.name);
    if (odd) {
      EXPECT_THAT(nodes, ElementsAre("gpu03", "gpu02", "gpu01"));
    } else {
      EXPECT_THAT(nodes, ElementsAre("gpu01", "gpu02", "gpu03"));
    }
    for (int rank = 0; rank < part.size(); ++rank) {
      const Roster::Member& member = part.roster().members[static_cast<size_t>(rank)];
      EXPECT_EQ(member.node, rank);
      EXPECT_EQ(member.local_rank, 0);
    }
    EXPECT_EQ(SumOfRanks(part, c.rank()), odd ? 9 : 6);
    int32_t from_root = part.rank() == 2 ? c.rank() : -1;
    EXPECT_EQ(MessageOf(part.Broadcast(std::span(&from_root, 1), 2)), "");
    EXPECT_EQ(from_root, odd ? 1 : 4);
  });
}

void CheckSplitOfSome(World& world) {
  world.Run([](Communicator& c) {
    auto split = c.Split(c.rank() == 1 ? -1 : 0, 0);
    ASSERT_TRUE(split);
    EXPECT_EQ(*split == nullptr, c.rank() == 1);
    if (*split) {
      EXPECT_EQ(SumOfRanks(**split, 1), 2);
    }
    EXPECT_EQ(SumOfRanks(c, 1), 3);
  });
}

void CheckSplitAgain(World& world) {
  std::vector<std::unique_ptr<Communicator>> parts(8);
  world.Run([&](Communicator& c) {
    auto halves = c.Split(c.rank() / 4, 0);
    ASSERT_TRUE(halves);
    auto quarters = (*halves)->Split((*halves)->rank() / 2, 0);
    ASSERT_TRUE(quarters);
    EXPECT_EQ(SumOfRanks(**quarters, c.rank()), c.rank() / 2 * 4 + 1);
    parts[static_cast<size_t>(c.rank())] = *std::move(quarters);
  });
  for (int rank = 0; rank < 8; ++rank) world.Leave(rank);
  std::vector<std::thread> threads;
  for (const auto& part : parts) {
    threads.emplace_back([&part] { EXPECT_EQ(SumOfRanks(*part, part->rank()), 1); });
  }
  for (std::thread& thread : threads) thread.join();
}

void CheckPartsAtTheSameTime(World& world) {
  world.Run([](Communicator& c) {
    auto pairs = c.Split(c.rank() % 2, 0);
    auto same = c.Split(0, -c.rank());
    ASSERT_TRUE(pairs && same);
    std::thread in_pair([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(SumOfRanks(**pairs, i), 2 * i);
    });
    std::thread in_same([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(SumOfRanks(**same, i), 4 * i);
    });
    for (int i = 0; i < 50; ++i) EXPECT_EQ(SumOfRanks(c, 1), 4);
    in_pair.join();
    in_same.join();
  });
}

void CheckSplitOfOne(World& world) {
  world.Run([](Communicator& c) {
    auto alone = c.Split(c.rank(), 0);
    ASSERT_TRUE(alone);
    EXPECT_EQ(SumOfRanks(**alone, 5), 5);
    EXPECT_EQ(*(*alone)->AllGatherBytes(AsBytes("x")), std::vector<Bytes>{Bytes{'x'}});
  });
}

}  // namespace muster
