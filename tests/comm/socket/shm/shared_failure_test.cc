// A failure while ranks wait in shared memory ends them all as soon as over sockets, with the same words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <span>
#include <vector>

#include "tests/comm/socket/failure_checks.h"

namespace muster::socket {
namespace {

using std::chrono::milliseconds;
using testing::Each;

// Patient: what is expected here has to be found without asking around.
SocketOptions Sharing() {
  SocketOptions options = SharingOptions();
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

// Each of these ranks only publishes in the second call: no rank reads there what a rank of another opinion wrote.
struct OneSided {
  const char* name;
  std::function<Status(Communicator&)> call;
  const char* message;
};

void PrintTo(const OneSided& one, std::ostream* out) { *out << one.name; }

thread_local std::vector<int32_t> four(4);

Buffer One() { return HostBuffer(std::span(four).first(1)); }

const OneSided kOneSided[] = {
    {"Broadcast", [](Communicator& c) { return c.Broadcast(One(), c.rank()); },
     "rank 0 on gpu01 is in Broadcast #2 i32[1] root 0, rank 1 on gpu01 in Broadcast #2 i32[1] root 1"},
    {"BroadcastBytes",
     [](Communicator& c) -> Status {
       MUSTER_CHECK(c.BroadcastBytes(Bytes(3), c.rank()));
       return {};
     },
     "rank 0 on gpu01 is in BroadcastBytes #2 root 0, rank 1 on gpu01 in BroadcastBytes #2 root 1"},
    {"Scatter",
     [](Communicator& c) { return c.Scatter(HostBuffer(std::span(four).first(2)), One(), c.rank()); },
     "rank 0 on gpu01 is in Scatter #2 i32[1] root 0, rank 1 on gpu01 in Scatter #2 i32[1] root 1"},
    {"Gather", [](Communicator& c) { return c.Gather(One(), {}, 1 - c.rank()); },
     "rank 0 on gpu01 is in Gather #2 i32[1] root 1, rank 1 on gpu01 in Gather #2 i32[1] root 0"},
    {"Reduce", [](Communicator& c) { return c.Reduce(One(), {}, ReduceOp::kSum, 1 - c.rank()); },
     "rank 0 on gpu01 is in Reduce #2 i32[1] root 1, rank 1 on gpu01 in Reduce #2 i32[1] root 0"},
    {"BroadcastAndReduce",
     [](Communicator& c) {
       return c.rank() == 0 ? c.Broadcast(One(), 0) : c.Reduce(One(), {}, ReduceOp::kSum, 0);
     },
     "rank 0 on gpu01 is in Broadcast #2 i32[1], rank 1 on gpu01 in Reduce #2 i32[1]"},
};

class SharedDisagreementOf : public testing::TestWithParam<OneSided> {};

TEST_P(SharedDisagreementOf, RanksThatOnlyPublishIsFoundByTheNextReader) {
  for (const bool spin : {false, true}) {
    SocketOptions options = Sharing();
    options.spin = spin;
    FakeWorld world(BlockLayout({2}), options);
    Meet(world);
    world.Run([](Communicator& c) { EXPECT_EQ(MessageOf(GetParam().call(c)), ""); });
    EXPECT_THAT(world.Messages([](Communicator& c) { return AllReduceFloats(c, 2); }),
                Each(GetParam().message));
    EXPECT_EQ(world.state().failure()->code, Code::kDisagreement);
  }
}

// The last call: the end of the communicators finds it.
TEST_P(SharedDisagreementOf, RanksThatOnlyPublishIsFoundAtTheEnd) {
  FakeWorld world(BlockLayout({2}), Sharing());
  Meet(world);
  world.Run([](Communicator& c) { EXPECT_EQ(MessageOf(GetParam().call(c)), ""); });
  world.Leave(0);
  ASSERT_TRUE(world.state().failure());
  EXPECT_EQ(world.state().failure()->message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, SharedDisagreementOf, testing::ValuesIn(kOneSided),
                         [](const auto& one) { return one.param.name; });

TEST(SharedDisagreement, OfOneRootIsFoundThoughTheOthersAgree) {
  FakeWorld world(BlockLayout({3}), Sharing());
  Meet(world);
  world.Run([](Communicator& c) { EXPECT_EQ(MessageOf(c.Broadcast(One(), c.rank() == 1 ? 1 : 0)), ""); });
  EXPECT_THAT(
      world.Messages([](Communicator& c) { return c.Barrier(); }),
      Each(testing::AnyOf("rank 0 on gpu01 is in Broadcast #2 i32[1] root 0, rank 1 on gpu01 in Broadcast "
                          "#2 i32[1] root 1",
                          "rank 1 on gpu01 is in Broadcast #2 i32[1] root 1, rank 2 on gpu01 in Broadcast "
                          "#2 i32[1] root 0")));
}

// No rank ever reads: the one that is ahead finds it when it writes over its own words.
TEST(SharedDisagreement, IsFoundByRanksThatOnlyWrite) {
  FakeWorld world(BlockLayout({2}), Sharing());
  Meet(world);
  EXPECT_THAT(world.Messages([](Communicator& c) {
    Status status;
    for (int i = 0; status && i < 10; ++i) status = c.Broadcast(One(), c.rank());
    return status;
  }),
              Each("rank 0 on gpu01 is in Broadcast #2 i32[1] root 0, rank 1 on gpu01 in Broadcast #2 i32[1] "
                   "root 1"));
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
