#include "tests/comm/socket/collective_checks.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace muster::socket {
namespace {

Bytes Of(const Plan& plan, int rank, size_t count) {
  return ElementsOf(plan.type, plan.operation, plan.seed, rank, count);
}

// The elements of all ranks, one block after the other.
Bytes OfAll(const Plan& plan, int ranks) {
  Bytes all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Bytes block = Of(plan, rank, plan.count);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

Bytes BlockOf(const Bytes& all, const Plan& plan, int rank) {
  const auto bytes = static_cast<ptrdiff_t>(plan.count * SizeOf(plan.type));
  return {all.begin() + rank * bytes, all.begin() + (rank + 1) * bytes};
}

}  // namespace

std::vector<NamedLayout> ManyLayouts() {
  std::vector<NamedLayout> layouts;
  for (int ranks = 1; ranks <= 17; ++ranks) {
    layouts.push_back({"one_node", BlockLayout({ranks})});
    if (ranks > 2) layouts.push_back({"uneven", BlockLayout({ranks - ranks / 3 - 1, 1, ranks / 3})});
  }
  for (const int ranks : {2, 3, 6, 8, 17}) layouts.push_back({"one_rank_each", CyclicLayout(ranks, ranks)});
  for (const int ranks : {5, 9, 16}) layouts.push_back({"cyclic", CyclicLayout(ranks, 3)});
  return layouts;
}

std::string Describe(const Plan& plan, int ranks) {
  return fmt::format("{} ranks, {}[{}] {} root {}", ranks, Name(plan.type), plan.count, Name(plan.operation),
                     plan.root);
}

Plan Planner::Next() {
  // Around the limits where one algorithm gives way to another, and nothing at all.
  static constexpr size_t kCounts[] = {0, 1, 2, 3, 17, 100, 1000, 5000, 9000};
  const auto choose = [this](const auto& values) { return values[random_() % std::size(values)]; };
  const DataType type = choose(kAllTypes);
  const ReduceOp operation = choose(kAllOps);
  const size_t count = choose(kCounts);
  const int root = static_cast<int>(random_() % static_cast<uint32_t>(ranks_));
  return {type, operation, count, root, random_()};
}

// That rank's block of a buffer with one for each.
Buffer OwnBlock(Bytes& bytes, const Plan& plan, int rank) {
  return {bytes.data() + static_cast<size_t>(rank) * plan.count * SizeOf(plan.type), plan.count, plan.type};
}

Buffer Whole(Bytes& bytes, DataType type) { return {bytes.data(), bytes.size() / SizeOf(type), type}; }

void CheckReductions(World& world, const Plan& plan) {
  const Bytes expected = ReducedElements(plan.type, plan.operation, plan.seed, world.size(), plan.count);
  world.Run([&](Communicator& c) {
    const Bytes mine = Of(plan, c.rank(), plan.count);
    Bytes send = mine;
    Bytes receive(send.size(), 0xee);
    ASSERT_EQ(MessageOf(c.AllReduce(Whole(send, plan.type), Whole(receive, plan.type), plan.operation)), "");
    EXPECT_EQ(receive, expected);
    EXPECT_EQ(send, mine);
    ASSERT_EQ(MessageOf(c.AllReduce(Whole(send, plan.type), Whole(send, plan.type), plan.operation)), "");
    EXPECT_EQ(send, expected) << "in place";

    send = mine;
    receive.assign(c.rank() == plan.root ? send.size() : 0, 0xee);
    ASSERT_EQ(
        MessageOf(c.Reduce(Whole(send, plan.type), Whole(receive, plan.type), plan.operation, plan.root)),
        "");
    if (c.rank() == plan.root) {
      EXPECT_EQ(receive, expected);
    }
    EXPECT_EQ(send, mine);
    const Buffer both = Whole(send, plan.type);
    ASSERT_EQ(MessageOf(c.Reduce(both, both, plan.operation, plan.root)), "");
    if (c.rank() == plan.root) {
      EXPECT_EQ(send, expected) << "in place";
    }
  });
}

void CheckReduceScatter(World& world, const Plan& plan) {
  const size_t ranks = static_cast<size_t>(world.size());
  const Bytes expected =
      ReducedElements(plan.type, plan.operation, plan.seed, world.size(), plan.count * ranks);
  world.Run([&](Communicator& c) {
    Bytes send = Of(plan, c.rank(), plan.count * ranks);
    Bytes receive(plan.count * SizeOf(plan.type), 0xee);
    ASSERT_EQ(MessageOf(c.ReduceScatter(Whole(send, plan.type), Whole(receive, plan.type), plan.operation)),
              "");
    EXPECT_EQ(receive, BlockOf(expected, plan, c.rank()));
    ASSERT_EQ(
        MessageOf(c.ReduceScatter(Whole(send, plan.type), OwnBlock(send, plan, c.rank()), plan.operation)),
        "");
    EXPECT_EQ(BlockOf(send, plan, c.rank()), BlockOf(expected, plan, c.rank())) << "in place";
  });
}

void CheckBroadcastAndScatter(World& world, const Plan& plan) {
  const Bytes all = OfAll(plan, world.size());
  world.Run([&](Communicator& c) {
    const bool root = c.rank() == plan.root;
    Bytes data = root ? all : Bytes(all.size(), 0xee);
    ASSERT_EQ(MessageOf(c.Broadcast(Whole(data, plan.type), plan.root)), "");
    EXPECT_EQ(data, all);
    Bytes send = root ? all : Bytes();
    Bytes receive(plan.count * SizeOf(plan.type), 0xee);
    ASSERT_EQ(MessageOf(c.Scatter(Whole(send, plan.type), Whole(receive, plan.type), plan.root)), "");
    EXPECT_EQ(receive, Of(plan, c.rank(), plan.count));
    if (!root) send = Bytes(all.size());
    const Buffer own = OwnBlock(send, plan, c.rank());
    ASSERT_EQ(MessageOf(c.Scatter(Whole(send, plan.type), own, plan.root)), "");
    EXPECT_EQ(BlockOf(send, plan, c.rank()), Of(plan, c.rank(), plan.count)) << "in place";
    if (root) {
      EXPECT_EQ(send, all);
    }
  });
}

void CheckGathers(World& world, const Plan& plan) {
  const Bytes all = OfAll(plan, world.size());
  world.Run([&](Communicator& c) {
    Bytes send = Of(plan, c.rank(), plan.count);
    Bytes receive(c.rank() == plan.root ? all.size() : 0, 0xee);
    ASSERT_EQ(MessageOf(c.Gather(Whole(send, plan.type), Whole(receive, plan.type), plan.root)), "");
    if (c.rank() == plan.root) {
      EXPECT_EQ(receive, all);
    }
    receive.assign(all.size(), 0xee);
    ASSERT_EQ(MessageOf(c.AllGather(Whole(send, plan.type), Whole(receive, plan.type))), "");
    EXPECT_EQ(receive, all);
    const auto send_in_place = [&] {
      receive.assign(all.size(), 0xee);
      const Buffer own = OwnBlock(receive, plan, c.rank());
      std::copy(send.begin(), send.end(), static_cast<uint8_t*>(own.data));
      return own;
    };
    ASSERT_EQ(MessageOf(c.AllGather(send_in_place(), Whole(receive, plan.type))), "");
    EXPECT_EQ(receive, all) << "in place";
    ASSERT_EQ(MessageOf(c.Gather(send_in_place(), Whole(receive, plan.type), plan.root)), "");
    if (c.rank() == plan.root) {
      EXPECT_EQ(receive, all) << "in place";
    }
  });
}

void CheckAllToAll(World& world, const Plan& any) {
  Plan plan = any;
  plan.count = std::min<size_t>(plan.count, 1500);  // every rank has this for every rank
  std::vector<Bytes> sent;
  for (int rank = 0; rank < world.size(); ++rank) {
    sent.push_back(Of(plan, rank, plan.count * static_cast<size_t>(world.size())));
  }
  world.Run([&](Communicator& c) {
    const Bytes& mine = sent[static_cast<size_t>(c.rank())];
    Bytes expected;
    for (const Bytes& theirs : sent) {
      const Bytes block = BlockOf(theirs, plan, c.rank());
      expected.insert(expected.end(), block.begin(), block.end());
    }
    Bytes send = mine;
    Bytes receive(send.size(), 0xee);
    ASSERT_EQ(MessageOf(c.AllToAll(Whole(send, plan.type), Whole(receive, plan.type))), "");
    EXPECT_EQ(receive, expected);
    EXPECT_EQ(send, mine);
    ASSERT_EQ(MessageOf(c.AllToAll(Whole(send, plan.type), Whole(send, plan.type))), "");
    EXPECT_EQ(send, expected) << "in place";
  });
}

void CheckBytesOfDifferentLength(World& world) {
  // Nothing from some, much from others.
  const auto bytes_of = [](int rank) {
    return Bytes(static_cast<size_t>(rank % 3 == 0 ? 0 : rank * 997), static_cast<uint8_t>(rank));
  };
  std::vector<Bytes> expected;
  for (int rank = 0; rank < world.size(); ++rank) expected.push_back(bytes_of(rank));
  world.Run([&](Communicator& c) {
    const Bytes mine = bytes_of(c.rank());
    for (const int root : {0, c.size() / 2, c.size() - 1}) {
      const auto gathered = c.GatherBytes(mine, root);
      ASSERT_TRUE(gathered);
      EXPECT_EQ(*gathered, c.rank() == root ? expected : std::vector<Bytes>());
      const auto one = c.BroadcastBytes(mine, root);
      ASSERT_TRUE(one);
      EXPECT_EQ(*one, expected[static_cast<size_t>(root)]);
    }
    const auto everybody = c.AllGatherBytes(mine);
    ASSERT_TRUE(everybody);
    EXPECT_EQ(*everybody, expected);
  });
}

std::vector<Bytes> ReduceNumbersThatRound(World& world, DataType type, ReduceOp operation) {
  constexpr size_t kCount = 1003;
  const auto ranks = static_cast<size_t>(world.size());
  const int root = world.size() - 1;
  std::vector<Bytes> sums(ranks);
  std::vector<Bytes> results(ranks);
  world.Run([&](Communicator& c) {
    Bytes mine = RoundingElements(type, static_cast<uint32_t>(c.rank()), kCount * ranks);
    Bytes all(mine.size());
    Bytes part(mine.size() / ranks);
    Bytes at_root(c.rank() == root ? mine.size() : 0);
    ASSERT_EQ(MessageOf(c.AllReduce(Whole(mine, type), Whole(all, type), operation)), "");
    ASSERT_EQ(MessageOf(c.ReduceScatter(Whole(mine, type), Whole(part, type), operation)), "");
    ASSERT_EQ(MessageOf(c.Reduce(Whole(mine, type), Whole(at_root, type), operation, root)), "");
    Bytes& result = results[static_cast<size_t>(c.rank())];
    for (const Bytes& piece : {all, part, at_root}) result.insert(result.end(), piece.begin(), piece.end());
    sums[static_cast<size_t>(c.rank())] = std::move(all);
  });
  for (const Bytes& sum : sums) EXPECT_TRUE(sum == sums.front()) << Name(type) << " " << Name(operation);
  return results;
}

void CheckOneAfterTheOther(World& world) {
  world.Run([&](Communicator& c) {
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

void CheckEveryTypeAndOperation(World& world) {
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

void CheckLongData(World& world) {
  constexpr size_t kCount = 400'000;
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
    ASSERT_EQ(MessageOf(c.Reduce(Whole(send, DataType::kF32), Whole(receive, DataType::kF32), ReduceOp::kSum,
                                 root)),
              "");
    EXPECT_TRUE(c.rank() != root || receive == sum);
    EXPECT_TRUE(send == mine);
    Bytes data = c.rank() == root ? sum : Bytes(sum.size());
    ASSERT_EQ(MessageOf(c.Broadcast(Whole(data, DataType::kF32), root)), "");
    EXPECT_TRUE(data == sum);
    ASSERT_EQ(
        MessageOf(c.AllReduce(Whole(send, DataType::kF32), Whole(send, DataType::kF32), ReduceOp::kSum)), "");
    EXPECT_TRUE(send == sum) << "in place";
  });
}

void CheckAll(World& world, const Plan& plan) {
  SCOPED_TRACE(Describe(plan, world.size()));
  CheckReductions(world, plan);
  CheckReduceScatter(world, plan);
  CheckBroadcastAndScatter(world, plan);
  CheckGathers(world, plan);
  CheckAllToAll(world, plan);
  CheckBytesOfDifferentLength(world);
  world.Run([](Communicator& c) { EXPECT_EQ(MessageOf(c.Barrier()), ""); });
}

}  // namespace muster::socket
