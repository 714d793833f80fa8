// Failures, and that every rank gets the same sentence about each of them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <thread>
#include <utility>

#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/socket/failure_checks.h"

namespace muster::socket {
namespace {

using std::chrono::milliseconds;
using testing::Each;

SocketOptions Impatient() {
  SocketOptions options = TestOptions();
  options.patience = milliseconds(20);
  options.cause_grace = milliseconds(20);
  return options;
}

TEST(Disagreement, ReachesAllRanksWithBothSides) {
  FakeWorld world(BlockLayout({4, 1, 2}));
  for (int i = 1; i < 42; ++i) world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  EXPECT_THAT(
      world.Messages([](Communicator& c) { return c.rank() == 6 ? c.Barrier() : AllReduceFloats(c, 1024); }),
      Each("rank 5 on gpu03 is in AllReduce #42 f32[1024], rank 6 on gpu03 in Barrier #42"));
  EXPECT_EQ(world.state().failure()->code, Code::kDisagreement);
  EXPECT_EQ(world.state().failure()->hint, "make the same calls in the same order on all ranks");
}

TEST(Disagreement, OfLengthOrTypeIsOneToo) {
  FakeWorld lengths(BlockLayout({1, 1}));
  EXPECT_THAT(
      lengths.Messages([](Communicator& c) { return AllReduceFloats(c, c.rank() == 0 ? 70'000 : 2); }),
      Each("rank 0 on gpu01 is in AllReduce #1 f32[70000], rank 1 on gpu02 in AllReduce #1 f32[2]"));
  FakeWorld types(BlockLayout({2}));
  EXPECT_THAT(types.Messages([](Communicator& c) {
    int64_t whole = 0;
    double real = 0;
    return c.rank() == 0 ? c.AllReduce(std::span(&whole, 1), ReduceOp::kSum)
                         : c.AllReduce(std::span(&real, 1), ReduceOp::kSum);
  }),
              Each("rank 0 on gpu01 is in AllReduce #1 i64[1], rank 1 on gpu01 in AllReduce #1 f64[1]"));
}

TEST(Disagreement, OfTheRootIsFoundThoughNobodySendsWhereItIsDue) {
  // Each waits for the other to send: no data ever flows, and without asking both would wait for their
  // deadline.
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({1, 1})}) {
    FakeWorld world(layout, Impatient());
    EXPECT_THAT(world.Messages([](Communicator& c) {
      int32_t value = 0;
      return c.Broadcast(std::span(&value, 1), 1 - c.rank());
    }),
                Each(testing::HasSubstr("is in Broadcast #1 i32[1] root 1, rank 1 on gpu0")));
  }
}

TEST(Disagreement, IsFoundBetweenRanksThatHaveNoConnection) {
  // Rank 0 sends to 2, which waits for 1, which never sends to it in this call. The first rank that inquires
  // finds it.
  FakeWorld world(BlockLayout({3}), Impatient());
  EXPECT_THAT(
      world.Messages([](Communicator& c) -> Status {
        int32_t value = 0;
        MUSTER_CHECK(c.Broadcast(std::span(&value, 1), c.rank() == 2 ? 1 : 0));
        return c.Barrier();
      }),
      Each(testing::MatchesRegex("rank [01] on gpu01 is in Broadcast #1 i32.1. root 0, rank 2 on gpu01 in "
                                 "Broadcast #1 i32.1. root 1")));
}

TEST(Disagreement, LeavesTheCommunicatorBroken) {
  FakeWorld world(BlockLayout({2}));
  world.Run([](Communicator& c) {
    const Status first = c.rank() == 0 ? c.Barrier() : AllReduceFloats(c, 1);
    ASSERT_FALSE(first);
    const Status second = c.Barrier();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(), first.error());
    std::vector<uint8_t> byte(1);
    EXPECT_EQ(c.Send(HostBuffer(std::span(byte)), 1 - c.rank()).error(), first.error());
    EXPECT_EQ(c.AllGatherBytes(byte).error(), first.error());
  });
}

TEST(Deadline, NamesTheRankThatAllWaitFor) {
  FakeWorld world(BlockLayout({4, 4}), Impatient());
  const std::vector<std::string> messages = world.Messages([](Communicator& c) {
    return c.rank() == 5 ? Status() : AllReduceFloats(c, 1024, {.timeout = milliseconds(2000)});
  });
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    EXPECT_EQ(messages[rank], rank == 5
                                  ? ""
                                  : "AllReduce #1 f32[1024] did not finish within 2s: waiting for rank 5 "
                                    "(gpu02), not seen in any operation so far");
  }
  EXPECT_EQ(world.state().failure()->code, Code::kDeadline);
  // The one that was missing learns of it when it arrives.
  EXPECT_EQ(MessageOf(world.at(5).Barrier()), messages[0]);
}

TEST(Deadline, ComesFromTheOptionsOfTheKindOfCall) {
  SocketOptions options = TestOptions();
  options.timeouts.barrier = milliseconds(30);
  FakeWorld world(BlockLayout({2}), options);
  EXPECT_EQ(
      MessageOf(world.at(1).Barrier()),
      "Barrier #1 did not finish within 30ms: waiting for rank 0 (gpu01), not seen in any operation so far");
  EXPECT_EQ(world.state().failure()->hint, "look at what that rank is doing, or raise timeouts.barrier");
  FakeWorld other(BlockLayout({2}));
  std::vector<int32_t> data(3);
  EXPECT_EQ(MessageOf(other.at(0).Recv(HostBuffer(std::span(data)), 1, {.timeout = milliseconds(30)})),
            "Recv #1 i32[3] did not finish within 30ms: waiting for rank 1 on gpu01");
}

TEST(Deadline, IsKeptWhileDataFlowsOnlyInPart) {
  FakeWorld world(BlockLayout({1, 1}));
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  // Far more than the kernel buffers: the sender is stuck halfway.
  std::vector<uint8_t> large(64 << 20);
  EXPECT_EQ(MessageOf(world.at(1).Broadcast(std::span(large), 1, {.timeout = milliseconds(50)})),
            "Broadcast #2 u8[67108864] did not finish within 50ms: waiting for rank 0 (gpu01), last seen in "
            "Barrier #1");
}

TEST(LostGroup, EndsEveryWaitAtOnce) {
  FakeWorld world(BlockLayout({3, 2}));
  const Error cause{Code::kPeerLost, "rank 4 on gpu02 was killed by signal 9", ""};
  world.Run([&](Communicator& c) {
    if (c.rank() == 4) return world.state().Fail(cause);
    if (c.rank() == 3) {
      std::vector<uint8_t> byte(1);
      EXPECT_EQ(c.Recv(HostBuffer(std::span(byte)), 4).error(), cause);
    }
    EXPECT_EQ(c.Barrier().error(), cause);
  });
}

// Rank 2 has had no connection to rank 0, which is well.
TEST(Descriptors, TheirLackIsNoLossOfThePeer) {
  SocketOptions options = Impatient();
  options.shared_memory = false;
  options.timeouts.collective = std::chrono::seconds(20);
  FakeWorld world(BlockLayout({3}), options);
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), Each(""));
  const std::vector<int64_t> mine(1);
  std::vector<int64_t> all(3);
  const net::DescriptorLimit few(0);
  const std::vector<UniqueFd> taken = net::TakeAllDescriptors();
  const Status status =
      world.at(2).AllGather(HostBuffer(std::span<const int64_t>(mine)), HostBuffer(std::span(all)));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              testing::MatchesRegex("rank 2 on gpu01 cannot connect to rank 0 on gpu01 for AllGather #2 "
                                    "i64\\[1\\]: .*Too many open files.*"));
  EXPECT_EQ(status.error().code, Code::kSystem);
  EXPECT_EQ(status.error().hint, "raise the limit on open files: ulimit -Sn");
}

TEST(Leave, NamesWhoLeftTooEarly) {
  // Connected before; on the same node and on another one; above and below who waits.
  for (const int leaver : {0, 1, 4}) {
    ExpectTheLeaverIsNamed(leaver, Impatient());
  }
}

TEST(Leave, IsNoticedWithoutAConnectionOnTheSameNode) {
  for (const int leaver : {0, 1}) {
    FakeWorld world(BlockLayout({2}), Impatient());
    world.Leave(leaver);
    EXPECT_EQ(MessageOf(world.at(1 - leaver).Barrier()),
              fmt::format("rank {} on gpu01 left the group before Barrier #1", leaver));
  }
}

// The leaver's process and its other communicators live on, and it never connected in this one.
TEST(Leave, OfASplitCommunicatorIsNoticedWithoutAConnection) {
  SocketOptions options = Impatient();
  options.call_back_after = milliseconds(20);
  const CallOptions limit{.timeout = std::chrono::seconds(10)};
  for (const auto& [layout, protect] : {std::pair(BlockLayout({2}), Protect::kControl),
                                        {BlockLayout({1, 1}), Protect::kControl},
                                        {BlockLayout({1, 1}), Protect::kAll}}) {
    options.protect = protect;
    for (const int leaver : {0, 1}) {
      FakeWorld world(layout, options);
      const std::string left = fmt::format("rank {} on gpu0{} left the group before Barrier #1", leaver,
                                           layout[static_cast<size_t>(leaver)] + 1);
      EXPECT_THAT(world.Messages([&](Communicator& c) -> Status {
        MUSTER_TRY(std::unique_ptr<Communicator> part, c.Split(0, 0));
        if (c.rank() != leaver) return part->Barrier(limit);
        part.reset();
        int32_t value = 0;
        return c.Recv(HostBuffer(std::span(&value, 1)), 1 - leaver, limit);
      }),
                  Each(left));
      EXPECT_EQ(world.state().failure()->code, Code::kPeerLost);
    }
  }
}

Duration ProcessorTimeOfThread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// Rank 2 passes on to rank 3 what comes from rank 0, which is not in the call yet.
TEST(Leave, IsNoticedByARankThatHasNothingToSendYet) {
  for (const std::vector<int>& layout : {BlockLayout({4}), BlockLayout({1, 1, 1, 1})}) {
    SocketOptions options = Impatient();
    options.patience = std::chrono::minutes(1);  // no inquiry reports it
    options.cause_grace = milliseconds(500);
    options.shared_memory = false;
    FakeWorld world(layout, options);
    std::vector<uint8_t> data(size_t{64} * 1024);
    world.Run([&](Communicator& c) {
      std::vector<uint8_t> own(data.size());
      ASSERT_EQ(MessageOf(c.Broadcast(std::span(own), 0)), "");
    });
    world.Leave(3);
    Status status;
    Duration used{};
    Duration took{};
    std::thread caller([&] {
      const Duration before = ProcessorTimeOfThread();
      const auto began = Clock::now();
      status = world.at(2).Broadcast(std::span(data), 0, {.timeout = std::chrono::seconds(10)});
      took = Clock::now() - began;
      used = ProcessorTimeOfThread() - before;
    });
    caller.join();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, fmt::format("rank 3 on {} left the group before Broadcast #2 u8[65536]",
                                                  layout.back() == 0 ? "gpu01" : "gpu04"));
    EXPECT_EQ(status.error().code, Code::kPeerLost);
    EXPECT_LT(used, took / 4) << "it sleeps";
  }
}

TEST(Leave, IsNoFailureWhenNobodyWaits) {
  FakeWorld world(BlockLayout({2, 2}));
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  world.Leave(0);
  // The others still have each other.
  world.RunRanks({2, 3}, [](Communicator& c) {
    int32_t value = c.rank();
    if (c.rank() == 2) {
      EXPECT_EQ(MessageOf(c.Send(HostBuffer(std::span(&value, 1)), 3)), "");
    } else {
      EXPECT_EQ(MessageOf(c.Recv(HostBuffer(std::span(&value, 1)), 2)), "");
      EXPECT_EQ(value, 2);
    }
  });
  EXPECT_EQ(world.state().failure(), std::nullopt);
}

}  // namespace
}  // namespace muster::socket
