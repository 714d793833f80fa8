// A rank without memory fails the group, like every other failure, and no rank waits until its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "tests/comm/socket/fake_group.h"

namespace {

// Of this thread: the bytes of the largest allocation that succeeds.
thread_local size_t largest = SIZE_MAX;

[[gnu::noinline]] void* Allocate(size_t bytes) {
  if (bytes > largest) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void Free(void* memory) { std::free(memory); }

}  // namespace

void* operator new(size_t bytes) {
  void* memory = Allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }

namespace muster::socket {
namespace {

using testing::Each;

constexpr size_t kMuch = size_t{4} << 20;

class Limit {
 public:
  explicit Limit(size_t bytes) { largest = bytes; }
  ~Limit() { largest = SIZE_MAX; }
};

// Rank 1 has no memory for its part of the call after a Barrier.
void ExpectTheGroupFails(const SocketOptions& options, const std::function<Status(Communicator&)>& call,
                         const std::string& message) {
  FakeWorld world(BlockLayout({2}), options);
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  const auto limited = [&](Communicator& c) {
    const Limit limit(c.rank() == 1 ? kMuch / 4 : SIZE_MAX);
    return call(c);
  };
  EXPECT_THAT(world.Messages(limited), Each(message));
  ASSERT_TRUE(world.state().failure());
  EXPECT_EQ(world.state().failure()->code, Code::kSystem);
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), Each(message));
  // No rank is in a call.
  for (int rank = 0; rank < 2; ++rank) {
    for (const OperationState& state : world.group(rank).activity().Look()) EXPECT_FALSE(state.active);
  }
}

TEST(NoMemory, OfTheRootOfABroadcastFailsTheGroup) {
  const Bytes much(kMuch);
  for (const bool shared : {false, true}) {
    ExpectTheGroupFails(
        SharingOptions(shared),
        [&](Communicator& c) -> Status {
          MUSTER_CHECK(c.BroadcastBytes(c.rank() == 1 ? ByteView(much) : ByteView(), 1));
          return {};
        },
        "rank 1 on gpu01 has no memory for BroadcastBytes #2");
  }
}

TEST(NoMemory, OfARankThatReceivesBytesNamesTheirNumber) {
  const Bytes much(kMuch);
  ExpectTheGroupFails(
      SharingOptions(true),
      [&](Communicator& c) -> Status {
        MUSTER_CHECK(c.BroadcastBytes(c.rank() == 0 ? ByteView(much) : ByteView(), 0));
        return c.Barrier();
      },
      "rank 1 on gpu01 has no memory for 4194304 bytes from rank 0 on gpu01 in BroadcastBytes #2");
  // With the code that proves their origin.
  ExpectTheGroupFails(
      SharingOptions(false),
      [&](Communicator& c) -> Status {
        MUSTER_CHECK(c.BroadcastBytes(c.rank() == 0 ? ByteView(much) : ByteView(), 0));
        return c.Barrier();
      },
      "rank 1 on gpu01 has no memory for 4194336 bytes from rank 0 on gpu01 in BroadcastBytes #2");
}

TEST(NoMemory, OfACollectiveOnElementsFailsTheGroup) {
  std::vector<std::vector<uint8_t>> data(2, std::vector<uint8_t>(kMuch));
  ExpectTheGroupFails(
      SharingOptions(false),
      [&](Communicator& c) {
        const std::span<uint8_t> mine(data[static_cast<size_t>(c.rank())]);
        return c.AllToAll(HostBuffer(mine), HostBuffer(mine));
      },
      "rank 1 on gpu01 has no memory for AllToAll #2 u8[4194304]");
}

TEST(NoMemory, OfARecvFailsTheGroupAndEndsItsTurn) {
  FakeWorld world(BlockLayout({2}));
  std::vector<std::vector<uint8_t>> data(2, std::vector<uint8_t>(3));
  world.Run([&](Communicator& c) {
    const Buffer buffer = HostBuffer(std::span(data[static_cast<size_t>(c.rank())]));
    ASSERT_EQ(MessageOf(c.rank() == 0 ? c.Send(buffer, 1) : c.Recv(buffer, 0)), "");
  });
  const std::string message = "rank 1 on gpu01 has no memory for Recv #2 u8[3]";
  EXPECT_THAT(world.Messages([&](Communicator& c) {
    const Buffer buffer = HostBuffer(std::span(data[static_cast<size_t>(c.rank())]));
    const Limit limit(c.rank() == 1 ? 100 : SIZE_MAX);
    return c.rank() == 0 ? c.Recv(buffer, 1) : c.Recv(buffer, 0);
  }),
              Each(message));
  EXPECT_EQ(world.state().failure()->code, Code::kSystem);
}

TEST(NoMemory, ForTheErrorItselfThrowsNothing) {
  FakeWorld world(BlockLayout({2}));
  std::vector<uint8_t> data(3);
  Status status;
  {
    const Limit limit(16);
    status = world.at(1).Recv(HostBuffer(std::span(data)), 0);
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(), (Error{Code::kSystem, "out of memory", ""}));
  EXPECT_EQ(MessageOf(world.at(1).Barrier()), "out of memory");
}

}  // namespace
}  // namespace muster::socket
