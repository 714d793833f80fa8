// Arguments that do not fit: kUsage, on this rank alone, and everything goes on.
#include "comm/ops/arguments.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

class ArgumentsTest : public testing::Test {
 protected:
  // All calls are made by rank 0 alone: they must not reach the others.
  ArgumentsTest() : world_(socket::BlockLayout({3})), c_(world_.at(0)) {}
  ~ArgumentsTest() override {
    EXPECT_EQ(world_.Messages([](Communicator& c) { return c.Barrier(); }), std::vector<std::string>(3));
  }

  void ExpectUsage(const Status& status, const std::string& message) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kUsage);
    EXPECT_EQ(status.error().message, message);
  }

  socket::FakeWorld world_;
  Communicator& c_;
  std::vector<float> data_ = std::vector<float>(12);
  const Buffer twelve_ = HostBuffer(std::span(data_));
  const Buffer four_ = {data_.data(), 4, DataType::kF32};
  const Buffer five_ = {data_.data(), 5, DataType::kF32};
};

TEST_F(ArgumentsTest, RootsAndPeers) {
  ExpectUsage(c_.Broadcast(four_, 3), "Broadcast: root 3 is not one of the 3 ranks 0-2");
  ExpectUsage(c_.Reduce(four_, four_, ReduceOp::kSum, -1), "Reduce: root -1 is not one of the 3 ranks 0-2");
  ExpectUsage(c_.Gather(four_, twelve_, 3), "Gather: root 3 is not one of the 3 ranks 0-2");
  ExpectUsage(c_.Scatter(twelve_, four_, 3), "Scatter: root 3 is not one of the 3 ranks 0-2");
  EXPECT_EQ(c_.GatherBytes({}, 3).error().message, "GatherBytes: root 3 is not one of the 3 ranks 0-2");
  EXPECT_EQ(c_.BroadcastBytes({}, 3).error().message, "BroadcastBytes: root 3 is not one of the 3 ranks 0-2");
  ExpectUsage(c_.Send(four_, 3), "Send: rank 3 is not one of the 3 ranks 0-2");
  ExpectUsage(c_.Recv(four_, 0), "Recv: rank 0 is this rank itself");
}

TEST_F(ArgumentsTest, Sizes) {
  ExpectUsage(c_.AllReduce(four_, five_, ReduceOp::kSum),
              "AllReduce: send has 4 elements and receive 5; they must have the same number");
  ExpectUsage(c_.Reduce(four_, five_, ReduceOp::kSum, 0),
              "Reduce: send has 4 elements and receive 5; they must have the same number");
  ExpectUsage(c_.AllGather(five_, twelve_),
              "AllGather: send has 5 elements and receive 12; it must have 5 for each of the 3 ranks");
  ExpectUsage(c_.Gather(five_, twelve_, 0),
              "Gather: send has 5 elements and receive 12; it must have 5 for each of the 3 ranks");
  ExpectUsage(c_.Scatter(twelve_, five_, 0),
              "Scatter: receive has 5 elements and send 12; it must have 5 for each of the 3 ranks");
  ExpectUsage(c_.ReduceScatter(twelve_, five_, ReduceOp::kSum),
              "ReduceScatter: receive has 5 elements and send 12; it must have 5 for each of the 3 ranks");
  ExpectUsage(c_.AllToAll(five_, five_),
              "AllToAll: 5 elements are not the same number for each of the 3 ranks");
}

TEST_F(ArgumentsTest, TypesAndMemory) {
  const Buffer whole = {data_.data(), 4, DataType::kI32};
  ExpectUsage(c_.AllReduce(four_, whole, ReduceOp::kSum),
              "AllReduce: send is f32 and receive is i32; they must have the same type");
  ExpectUsage(c_.Broadcast({nullptr, 4, DataType::kF32}, 0),
              "Broadcast: buffer is null and should have 4 elements");
  ExpectUsage(c_.Broadcast({data_.data(), SIZE_MAX / 2, DataType::kF32}, 0),
              "Broadcast: buffer cannot have 9223372036854775807 elements");
  const Status device = c_.Broadcast({data_.data(), 4, DataType::kF32, Memory::kDevice}, 0);
  ExpectUsage(device, "Broadcast: buffer is device memory, and the socket backend works on host memory");
  EXPECT_EQ(device.error().hint, "use backend: nccl, or copy to the host first");
}

// The loops of the arithmetic rely on it, a copy does not.
TEST_F(ArgumentsTest, WhatIsComputedIsAligned) {
  auto* odd = reinterpret_cast<std::byte*>(data_.data()) + 1;
  const Buffer shifted = {odd, 4, DataType::kF32};
  const std::string is_not = " is not aligned for f32: its address must be a multiple of 4";
  ExpectUsage(c_.AllReduce(shifted, four_, ReduceOp::kSum), "AllReduce: send" + is_not);
  ExpectUsage(c_.AllReduce(four_, shifted, ReduceOp::kSum), "AllReduce: receive" + is_not);
  ExpectUsage(c_.Reduce(shifted, four_, ReduceOp::kSum, 1), "Reduce: send" + is_not);
  ExpectUsage(c_.ReduceScatter(twelve_, shifted, ReduceOp::kSum), "ReduceScatter: receive" + is_not);
  EXPECT_EQ(world_.Messages([&](Communicator& c) {
    std::vector<std::byte> bytes(17, std::byte{c.rank() == 1});
    return c.Broadcast({bytes.data() + 1, 4, DataType::kF32}, 1);
  }),
            std::vector<std::string>(3));
}

TEST_F(ArgumentsTest, Timeouts) {
  ExpectUsage(c_.Barrier({.timeout = Duration::zero()}), "Barrier: the timeout must be more than 0");
  ExpectUsage(c_.Send(four_, 1, {.timeout = Duration(-1)}), "Send: the timeout must be more than 0");
}

// communicator.h promises it.
TEST_F(ArgumentsTest, NothingIsACountToo) {
  const Buffer none{nullptr, 0, DataType::kF32};
  const auto every_call = [&](Communicator& c) -> Status {
    MUSTER_CHECK(c.Broadcast(none, 1));
    MUSTER_CHECK(c.Reduce(none, none, ReduceOp::kSum, 1));
    MUSTER_CHECK(c.AllReduce(none, none, ReduceOp::kAvg));
    MUSTER_CHECK(c.Gather(none, none, 1));
    MUSTER_CHECK(c.AllGather(none, none));
    MUSTER_CHECK(c.Scatter(none, none, 1));
    MUSTER_CHECK(c.ReduceScatter(none, none, ReduceOp::kSum));
    MUSTER_CHECK(c.AllToAll(none, none));
    if (c.rank() == 0) return c.Send(none, 1);
    return c.rank() == 1 ? c.Recv(none, 0) : Status();
  };
  EXPECT_EQ(world_.Messages(every_call), std::vector<std::string>(3));
}

TEST_F(ArgumentsTest, AnAverageOfIntegersIsCutOffTowardsZero) {
  world_.Run([](Communicator& c) {
    std::array<int32_t, 2> numbers = {c.rank() == 0 ? 5 : 0, c.rank() == 0 ? -5 : 0};
    EXPECT_EQ(socket::MessageOf(c.AllReduce(std::span<int32_t>(numbers), ReduceOp::kAvg)), "");
    EXPECT_EQ(numbers, (std::array<int32_t, 2>{1, -1}));
    int8_t wraps = 100;  // 300 is 44
    EXPECT_EQ(socket::MessageOf(c.AllReduce(std::span<int8_t>(&wraps, 1), ReduceOp::kAvg)), "");
    EXPECT_EQ(wraps, 14);
  });
}

TEST_F(ArgumentsTest, WhatOnlyTheRootUsesIsNotLookedAtElsewhere) {
  world_.Run([&](Communicator& c) {
    std::vector<float> mine(4);
    std::vector<float> all(12);
    const bool root = c.rank() == 1;
    const Buffer there = HostBuffer(std::span(all));
    const Buffer nothing = {nullptr, 77, DataType::kU8, Memory::kDevice};
    const Buffer send = HostBuffer(std::span(mine));
    EXPECT_EQ(socket::MessageOf(c.Gather(send, root ? there : nothing, 1)), "");
    EXPECT_EQ(socket::MessageOf(c.Scatter(root ? there : nothing, send, 1)), "");
    EXPECT_EQ(socket::MessageOf(c.Reduce(send, root ? send : nothing, ReduceOp::kSum, 1)), "");
  });
}

}  // namespace
}  // namespace muster
