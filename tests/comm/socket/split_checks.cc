#include "tests/comm/socket/split_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace muster::socket {
namespace {

using testing::ElementsAre;

int64_t SumOfRanks(Communicator& c, int64_t value) {
  EXPECT_EQ(MessageOf(c.AllReduce(std::span(&value, 1), ReduceOp::kSum)), "");
  return value;
}

// A part of two whose members have their ranks in the whole.
void CheckPair(Communicator& pair, int in_whole) {
  const int other = in_whole ^ 1;
  const auto name = [](int rank) { return Bytes{static_cast<uint8_t>(rank)}; };
  EXPECT_EQ(*pair.AllGatherBytes(name(in_whole)),
            (std::vector<Bytes>{name(in_whole & ~1), name(in_whole | 1)}));
  for (const int root : {0, 1}) {
    int32_t word = pair.rank() == root ? in_whole : -1;
    EXPECT_EQ(MessageOf(pair.Broadcast(std::span(&word, 1), root)), "");
    EXPECT_EQ(word, (in_whole & ~1) + root);
  }
  std::vector<int32_t> two = {10 * in_whole, 10 * in_whole + 1};
  EXPECT_EQ(MessageOf(pair.AllToAll(HostBuffer(std::span<const int32_t>(two)), HostBuffer(std::span(two)))),
            "");
  EXPECT_THAT(two, ElementsAre(10 * (in_whole & ~1) + pair.rank(), 10 * (in_whole | 1) + pair.rank()));
  int32_t heard = -1;
  std::thread sender([&] {
    EXPECT_EQ(MessageOf(pair.Send(HostBuffer(std::span<const int32_t>(&in_whole, 1)), 1 - pair.rank())), "");
  });
  EXPECT_EQ(MessageOf(pair.Recv(HostBuffer(std::span(&heard, 1)), 1 - pair.rank())), "");
  EXPECT_EQ(heard, other);
  sender.join();
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
    CheckPair(**quarters, c.rank());
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

}  // namespace muster::socket
