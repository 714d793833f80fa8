#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using testing::Each;

std::vector<int64_t> Numbers(size_t count, int64_t first) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Status SendNumbers(Communicator& c, int to, size_t count, int64_t first) {
  std::vector<int64_t> numbers = Numbers(count, first);
  return c.Send(HostBuffer(std::span(numbers)), to);
}

void ExpectNumbers(Communicator& c, int from, size_t count, int64_t first) {
  std::vector<int64_t> numbers(count);
  EXPECT_EQ(MessageOf(c.Recv(HostBuffer(std::span(numbers)), from)), "");
  EXPECT_TRUE(numbers == Numbers(count, first));
}

TEST(SendRecv, MatchInOrderForEachPair) {
  FakeWorld world(BlockLayout({2, 1}));
  world.Run([](Communicator& c) {
    for (int64_t i = 0; i < 5; ++i) {
      for (int peer = 0; peer < c.size(); ++peer) {
        const size_t count = static_cast<size_t>(i * 100);
        if (c.rank() < peer) {
          EXPECT_EQ(MessageOf(SendNumbers(c, peer, count, i)), "");
        }
        if (c.rank() > peer) ExpectNumbers(c, peer, count, i);
      }
    }
  });
}

TEST(SendRecv, GoBothWaysAtOnceFromTwoThreads) {
  // More than the kernel buffers in both directions: either alone would block.
  constexpr size_t kCount = 500'000;
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({1, 1})}) {
    FakeWorld world(layout);
    world.Run([](Communicator& c) {
      const int peer = 1 - c.rank();
      std::thread sender([&] { EXPECT_EQ(MessageOf(SendNumbers(c, peer, kCount, c.rank())), ""); });
      ExpectNumbers(c, peer, kCount, peer);
      sender.join();
    });
  }
}

TEST(SendRecv, RunBesideCollectives) {
  FakeWorld world(BlockLayout({2, 3}));
  world.Run([](Communicator& c) {
    auto half = c.Split(c.rank() % 2, 0);
    ASSERT_TRUE(half);
    // Each rank to each other one, while all of them add up, in the whole and in a part.
    const auto peer_at = [&](int64_t i, int direction) {
      const int step = 1 + static_cast<int>(i) % (c.size() - 1);
      return (c.rank() + direction * step + c.size()) % c.size();
    };
    std::thread sender([&] {
      for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(MessageOf(SendNumbers(c, peer_at(i, 1), 2000, i)), "");
    });
    std::thread receiver([&] {
      for (int64_t i = 0; i < 40; ++i) ExpectNumbers(c, peer_at(i, -1), 2000, i);
    });
    for (int i = 0; i < 50; ++i) {
      Communicator& group = i % 2 == 0 ? c : **half;
      std::vector<int32_t> ones(static_cast<size_t>(i) * 300, 1);
      EXPECT_EQ(MessageOf(group.AllReduce(std::span(ones), ReduceOp::kSum)), "");
      EXPECT_THAT(ones, Each(group.size()));
    }
    sender.join();
    receiver.join();
  });
}

TEST(SendRecv, MustAgreeOnTypeAndCount) {
  FakeWorld world(BlockLayout({1, 1}));
  EXPECT_THAT(world.Messages([](Communicator& c) -> Status {
    MUSTER_CHECK(c.rank() == 0 ? SendNumbers(c, 1, 3, 0) : Status());
    if (c.rank() == 1) ExpectNumbers(c, 0, 3, 0);
    std::vector<float> floats(10);
    if (c.rank() == 1) return c.Recv(HostBuffer(std::span(floats)), 0);
    MUSTER_CHECK(SendNumbers(c, 1, 4, 0));
    return c.Barrier();
  }),
              Each("rank 0 on gpu01 is in Send #2 i64[4], rank 1 on gpu02 in Recv #2 f32[10]"));
}

// The receiver is in other calls that wait for the sender, and does not connect in them.
TEST(SendRecv, AShortMessageDoesNotWaitForItsRecv) {
  SocketOptions options = TestOptions();
  options.call_back_after = std::chrono::milliseconds(1);
  options.timeouts.collective = options.timeouts.barrier = std::chrono::seconds(20);
  for (const std::vector<int>& layout : {BlockLayout({3}), BlockLayout({1, 1, 1})}) {
    for (const int sender : {0, 1, 2}) {
      FakeWorld world(layout, options);
      world.Run([sender](Communicator& c) {
        if (c.rank() == sender) {
          for (int peer = 0; peer < c.size(); ++peer) {
            if (peer == sender) continue;
            EXPECT_EQ(MessageOf(SendNumbers(c, peer, 3, peer)), "");
          }
        }
        EXPECT_EQ(MessageOf(c.Barrier()), "");
        if (c.rank() != sender) ExpectNumbers(c, sender, 3, c.rank());
      });
    }
  }
}

// The time in which a call waits for its turn is part of its timeout.
TEST(SendRecv, TakeNoLongerThanTheirTimeout) {
  constexpr size_t kMoreThanTheKernelTakes = 500'000;  // 4 MB
  constexpr Duration kTimeout = std::chrono::seconds(4);
  std::promise<Clock::time_point> second_begins;
  FakeWorld world(BlockLayout({2}));
  world.Run([&](Communicator& c) {
    std::vector<int64_t> numbers = Numbers(kMoreThanTheKernelTakes, 0);
    if (c.rank() == 1) {
      std::this_thread::sleep_until(second_begins.get_future().get() + kTimeout * 3 / 4);
      return ExpectNumbers(c, 0, kMoreThanTheKernelTakes, 0);
    }
    std::thread first([&] { EXPECT_EQ(MessageOf(SendNumbers(c, 1, kMoreThanTheKernelTakes, 0)), ""); });
    const auto waits = [&] {
      return std::ranges::any_of(world.group(0).activity().Look(), &OperationState::active);
    };
    while (!waits()) std::this_thread::yield();
    CallOptions options;
    options.timeout = kTimeout;
    const auto began = Clock::now();
    second_begins.set_value(began);
    const Status second = c.Send(HostBuffer(std::span(numbers)), 1, options);
    const Duration took = Clock::now() - began;
    first.join();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kDeadline);
    // Counted twice it is 7 s.
    EXPECT_LT(took, kTimeout * 3 / 2);
  });
}

void Pass(World& world, int from, int to) {
  world.RunRanks({from, to}, [&](Communicator& c) {
    if (c.rank() == from) {
      EXPECT_EQ(MessageOf(SendNumbers(c, to, 3, 0)), "");
    } else {
      ExpectNumbers(c, from, 3, 0);
    }
  });
}

SocketOptions Impatient() {
  SocketOptions options = TestOptions();
  options.patience = std::chrono::milliseconds(20);
  options.cause_grace = std::chrono::milliseconds(20);
  options.called_back_within = std::chrono::milliseconds(20);
  return options;
}

// A thread may wait for messages that never come: that concerns no other rank.
TEST(SendRecv, FromAPeerThatLeftBehindALargeMessageFailsAlone) {
  // With the last of them the buffer of the kernel is full.
  size_t tried = 0;
  for (size_t count = 26'600;; count += 100) {
    FakeWorld world(BlockLayout({3}), Impatient());
    Pass(world, 0, 1);
    std::vector<int64_t> numbers(count);
    const auto timeout = std::chrono::milliseconds(200);
    if (!world.at(0).Send(HostBuffer(std::span(numbers)), 1, {.timeout = timeout})) break;
    world.Leave(0);
    ASSERT_EQ(MessageOf(world.at(1).Recv(HostBuffer(std::span(numbers)), 0)), "");
    const Status status = world.at(1).Recv(HostBuffer(std::span(numbers)), 0);
    EXPECT_EQ(MessageOf(status), fmt::format("rank 0 on gpu01 left the group before Recv #3 i64[{}]", count));
    EXPECT_EQ(world.state().failure(), std::nullopt);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

TEST(SendRecv, FromAPeerThatLeftFailsAlone) {
  struct Case {
    std::vector<int> layout;
    int leaver, receiver;
    bool met;
    const char* message;
  };
  for (const Case& c : {
           Case{BlockLayout({3}), 0, 1, true, "rank 0 on gpu01 left the group before Recv #2 i64[3]"},
           Case{BlockLayout({3}), 0, 1, false, "rank 0 on gpu01 left the group before Recv #1 i64[3]"},
           Case{BlockLayout({3}), 1, 0, false, "rank 1 on gpu01 left the group before Recv #1 i64[3]"},
           Case{BlockLayout({1, 2}), 0, 1, true, "rank 0 on gpu01 left the group before Recv #2 i64[3]"},
           Case{BlockLayout({1, 2}), 0, 1, false,
                "rank 1 on gpu02 cannot connect to rank 0 on gpu01 for Recv #1 i64[3]: 127.0.0.1:{}: "
                "Connection refused; that rank has not connected either"},
       }) {
    FakeWorld world(c.layout, Impatient());
    if (c.met) Pass(world, c.leaver, c.receiver);
    world.Leave(c.leaver);
    std::vector<int64_t> numbers(3);
    const Status status =
        world.at(c.receiver)
            .Recv(HostBuffer(std::span(numbers)), c.leaver, {.timeout = std::chrono::seconds(20)});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kPeerLost);
    EXPECT_EQ(status.error().message, fmt::format(fmt::runtime(c.message), world.address(c.leaver).port));
    EXPECT_EQ(world.state().failure(), std::nullopt);
    Pass(world, c.receiver, 2);
  }
}

// The same of a rank that sends. More than the kernel buffers: it takes a short message although no process will read it.
TEST(SendRecv, ToAPeerThatLeftFailsAlone) {
  struct Case {
    std::vector<int> layout;
    int leaver, sender;
    bool met;
  };
  for (const Case& c : {Case{BlockLayout({3}), 0, 1, true}, Case{BlockLayout({3}), 0, 1, false},
                        Case{BlockLayout({3}), 1, 0, false}, Case{BlockLayout({1, 2}), 0, 1, true}}) {
    FakeWorld world(c.layout, Impatient());
    if (c.met) Pass(world, c.leaver, c.sender);
    world.Leave(c.leaver);
    const Bytes bytes(size_t{32} << 20);
    const Status status = world.at(c.sender).Send(HostBuffer(std::span(bytes)), c.leaver,
                                                  {.timeout = std::chrono::seconds(20)});
    EXPECT_EQ(MessageOf(status),
              fmt::format("rank {} on gpu01 left the group before Send #1 u8[33554432]", c.leaver));
    EXPECT_EQ(world.state().failure(), std::nullopt);
    Pass(world, c.sender, 2);
  }
}

// A message that the rank sent before it left does not hide the leave message behind it, whether it is received first or
// not at all.
TEST(SendRecv, ToAPeerThatSentAndLeftFailsAlone) {
  for (const Protect protect : {Protect::kControl, Protect::kAll}) {
    for (const std::vector<int>& layout : {BlockLayout({3}), BlockLayout({1, 2})}) {
      // The last one is longer than what is read ahead, and goes into the window of a TCP connection.
      for (const auto& [received, count] :
           {std::pair<bool, size_t>(true, 3), std::pair<bool, size_t>(false, 3),
            std::pair<bool, size_t>(false, 5'000)}) {
        SCOPED_TRACE(fmt::format("protect {} nodes {} received {} count {}", static_cast<int>(protect),
                                 layout.back() + 1, received, count));
        SocketOptions options = Impatient();
        options.protect = protect;
        FakeWorld world(layout, options);
        Pass(world, 0, 1);
        EXPECT_EQ(MessageOf(SendNumbers(world.at(0), 1, count, 0)), "");
        world.Leave(0);
        if (received) ExpectNumbers(world.at(1), 0, count, 0);
        const Bytes bytes(size_t{32} << 20);
        const Status status =
            world.at(1).Send(HostBuffer(std::span(bytes)), 0, {.timeout = std::chrono::seconds(20)});
        EXPECT_EQ(MessageOf(status), "rank 0 on gpu01 left the group before Send #1 u8[33554432]");
        EXPECT_EQ(world.state().failure(), std::nullopt);
        if (!received) ExpectNumbers(world.at(1), 0, count, 0);
        Pass(world, 1, 2);
      }
    }
  }
}

// It may be there, behind a firewall, and wait for the message.
TEST(SendRecv, ToAPeerOfAnotherNodeThatRefusesTheConnectionFailsTheGroup) {
  FakeWorld world(BlockLayout({1, 2}), Impatient());
  world.Leave(0);
  EXPECT_THAT(MessageOf(SendNumbers(world.at(1), 0, 3, 0)),
              testing::HasSubstr("rank 1 on gpu02 cannot connect to rank 0 on gpu01 for Send #1 i64[3]"));
  EXPECT_NE(world.state().failure(), std::nullopt);
}

}  // namespace
}  // namespace muster::socket
