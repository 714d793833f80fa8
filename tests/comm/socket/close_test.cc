// The owner ends a communicator while other threads are in its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using std::chrono::seconds;

void Meet(FakeWorld& world) {
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
}

// Until a call of that rank waits for another one.
void AwaitWaiting(FakeWorld& world, int rank) {
  const auto waits = [&] {
    const std::vector<OperationState> states = world.group(rank).activity().Look();
    return std::ranges::any_of(states, [](const OperationState& one) { return !one.waiting_for.empty(); });
  };
  while (!waits() && !world.state().failure()) std::this_thread::yield();
}

// Of rank 1, its second call.
void ExpectCloseEndsItsBarrier(FakeWorld& world) {
  Status status;
  std::thread caller([&] { status = world.at(1).Barrier(); });
  AwaitWaiting(world, 1);
  EXPECT_TRUE(world.at(1).Close(Deadline::After(seconds(20))));
  caller.join();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(), (Error{Code::kUsage, "Barrier #2: this process has ended the communicator", ""}));
  EXPECT_EQ(world.state().failure(), std::nullopt);
}

TEST(Close, EndsACollectiveThatWaits) {
  for (const bool shared : {false, true}) {
    FakeWorld world(BlockLayout({2}), SharingOptions(shared));
    Meet(world);
    ExpectCloseEndsItsBarrier(world);
    EXPECT_EQ(world.at(1).Barrier().error(),
              (Error{Code::kUsage, "Barrier: this process has ended the communicator", ""}));
    EXPECT_EQ(world.state().failure(), std::nullopt);
  }
}

TEST(Close, EndsARecvThatWaitsAndTheNextInTurn) {
  FakeWorld world(BlockLayout({2}));
  std::array<Status, 2> statuses;
  std::array<std::vector<uint8_t>, 2> data{std::vector<uint8_t>(3), std::vector<uint8_t>(3)};
  world.Run([&](Communicator& c) {
    const Buffer buffer = HostBuffer(std::span(data[static_cast<size_t>(c.rank())]));
    ASSERT_EQ(MessageOf(c.rank() == 0 ? c.Send(buffer, 1) : c.Recv(buffer, 0)), "");
  });
  std::array<std::thread, 2> callers;
  for (size_t i = 0; i < 2; ++i) {
    callers[i] = std::thread([&, i] { statuses[i] = world.at(1).Recv(HostBuffer(std::span(data[i])), 0); });
  }
  AwaitWaiting(world, 1);
  EXPECT_TRUE(world.at(1).Close(Deadline::After(seconds(20))));
  for (std::thread& caller : callers) caller.join();
  for (const Status& status : statuses) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kUsage);
    EXPECT_THAT(status.error().message,
                testing::MatchesRegex("Recv( #2 u8.3.)?: this process has ended the communicator"));
  }
  EXPECT_EQ(world.state().failure(), std::nullopt);
  // It leaves as a rank does that has done its work.
  world.Leave(1);
  const Status after = world.at(0).Recv(HostBuffer(std::span(data[0])), 1);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().message, "rank 1 on gpu01 left the group before Recv #1 u8[3]");
}

// All ranks end, and threads are in a collective: the first rank's leave message is no failure of the others.
TEST(Close, EndsACollectiveThatAPeerHasLeft) {
  for (const bool shared : {false, true}) {
    SocketOptions options = SharingOptions(shared);
    options.patience = std::chrono::milliseconds(20);
    options.cause_grace = std::chrono::minutes(1);
    FakeWorld world(BlockLayout({3}), options);
    Meet(world);
    world.Leave(0);
    world.Leave(2);
    ExpectCloseEndsItsBarrier(world);
  }
}

TEST(Close, OfACommunicatorThatNoThreadUsesDoesNotWait) {
  FakeWorld world(BlockLayout({2}));
  Meet(world);
  EXPECT_TRUE(world.at(0).Close(Deadline::After(Duration::zero())));
}

}  // namespace
}  // namespace muster::socket
