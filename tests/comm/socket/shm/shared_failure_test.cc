// A failure while ranks wait in shared memory ends them all as soon as over sockets, with the same words.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/socket/failure_checks.h"

namespace muster::socket {
namespace {

using std::chrono::milliseconds;
using testing::Each;

// Patient: what is expected here has to be found without asking around.
SocketOptions Sharing() {
  SocketOptions options = TestOptions();
  options.calls_before_sharing = 0;
  options.patience = std::chrono::minutes(1);
  options.cause_grace = milliseconds(20);
  return options;
}

// Memory is shared from the first call on.
void Meet(FakeWorld& world) {
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
}

TEST(SharedDisagreement, ReachesAllRanksWithBothSides) {
  for (const bool spin : {false, true}) {
    SocketOptions options = Sharing();
    options.spin = spin;
    FakeWorld world(BlockLayout({4, 1, 2}), options);
    for (int i = 1; i < 42; ++i) Meet(world);
    EXPECT_THAT(world.Messages(
                    [](Communicator& c) { return c.rank() == 6 ? c.Barrier() : AllReduceFloats(c, 1024); }),
                Each("rank 5 on gpu03 is in AllReduce #42 f32[1024], rank 6 on gpu03 in Barrier #42"));
    EXPECT_EQ(world.state().failure()->code, Code::kDisagreement);
  }
}

TEST(SharedDisagreement, OfLengthTypeReductionOrRootIsOneToo) {
  FakeWorld lengths(BlockLayout({2}), Sharing());
  Meet(lengths);
  EXPECT_THAT(
      lengths.Messages([](Communicator& c) { return AllReduceFloats(c, c.rank() == 0 ? 70'000 : 2); }),
      Each("rank 0 on gpu01 is in AllReduce #2 f32[70000], rank 1 on gpu01 in AllReduce #2 f32[2]"));
  FakeWorld types(BlockLayout({2}), Sharing());
  Meet(types);
  EXPECT_THAT(types.Messages([](Communicator& c) {
    int64_t whole = 0;
    double real = 0;
    return c.rank() == 0 ? c.AllReduce(std::span(&whole, 1), ReduceOp::kSum)
                         : c.AllReduce(std::span(&real, 1), ReduceOp::kSum);
  }),
              Each("rank 0 on gpu01 is in AllReduce #2 i64[1], rank 1 on gpu01 in AllReduce #2 f64[1]"));
  FakeWorld reductions(BlockLayout({2}), Sharing());
  Meet(reductions);
  EXPECT_THAT(
      reductions.Messages([](Communicator& c) {
        int32_t value = 0;
        return c.AllReduce(std::span(&value, 1), c.rank() == 0 ? ReduceOp::kMax : ReduceOp::kMin);
      }),
      Each("rank 0 on gpu01 is in AllReduce #2 i32[1] max, rank 1 on gpu01 in AllReduce #2 i32[1] min"));
  // Neither side of a root waits for the other: both are right to be reported.
  FakeWorld roots(BlockLayout({2}), Sharing());
  Meet(roots);
  EXPECT_THAT(roots.Messages([](Communicator& c) -> Status {
    int32_t value = 0;
    MUSTER_CHECK(c.Broadcast(std::span(&value, 1), 1 - c.rank()));
    return c.Barrier();
  }),
              Each("rank 0 on gpu01 is in Broadcast #2 i32[1] root 1, rank 1 on gpu01 in Broadcast #2 i32[1] "
                   "root 0"));
}

TEST(SharedDeadline, NamesTheRankThatAllWaitFor) {
  SocketOptions options = Sharing();
  options.patience = milliseconds(20);
  FakeWorld world(BlockLayout({4, 4}), options);
  Meet(world);
  const std::vector<std::string> messages = world.Messages([](Communicator& c) {
    return c.rank() == 5 ? Status() : AllReduceFloats(c, 1024, {.timeout = milliseconds(2000)});
  });
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    EXPECT_EQ(messages[rank], rank == 5
                                  ? ""
                                  : "AllReduce #2 f32[1024] did not finish within 2s: waiting for rank 5 "
                                    "(gpu02), last seen in Barrier #1");
  }
  EXPECT_EQ(world.state().failure()->code, Code::kDeadline);
  EXPECT_EQ(MessageOf(world.at(5).Barrier()), messages[0]);
}

TEST(SharedGroupFailure, EndsEveryWaitAtOnce) {
  FakeWorld world(BlockLayout({3, 2}), Sharing());
  Meet(world);
  const Error cause{Code::kPeerLost, "rank 4 on gpu02 was killed by signal 9", ""};
  world.Run([&](Communicator& c) {
    if (c.rank() == 4) return world.state().Fail(cause);
    EXPECT_EQ(AllReduceFloats(c, 100'000).error(), cause);
  });
}

TEST(SharedGoodbye, NamesWhoLeftTooEarly) {
  for (const int leaver : {0, 1, 4}) {
    ExpectTheLeaverIsNamed(leaver, Sharing());
  }
}

// A rank may go as soon as it has done its part, though others have yet to read it.
TEST(SharedGoodbye, IsNoFailureWhenTheWorkIsDone) {
  for (int i = 0; i < 20; ++i) {
    FakeWorld world(BlockLayout({3}), Sharing());
    Meet(world);
    world.Run([&](Communicator& c) {
      const int rank = c.rank();
      std::vector<int32_t> data(5000, rank);
      ASSERT_EQ(MessageOf(c.Broadcast(std::span(data), 1)), "");
      EXPECT_EQ(data, std::vector<int32_t>(5000, 1));
      world.Leave(rank);
    });
    EXPECT_EQ(world.state().failure(), std::nullopt);
  }
}

}  // namespace
}  // namespace muster::socket
