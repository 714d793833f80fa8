#include "comm/socket/transport/frame.h"

#include <gtest/gtest.h>

#include <utility>

namespace muster::socket {
namespace {

Frame SomeFrame() {
  Frame frame;
  frame.call.operation = Operation::kScatter;
  frame.call.sequence = 0x0102030405060708;
  frame.call.type = DataType::kF64;
  frame.call.count = 77;
  frame.call.communicator = 0xa1b2c3d4e5f60718;
  frame.call.reduce = ReduceOp::kAvg;
  frame.call.root = -1;
  frame.payload = 616;
  return frame;
}

TEST(Frame, IsTheseBytes) {
  const FrameBytes expected = {0x4d, 0x55, 0x53, 0x31, 1,    6,    8,  4, 0x18, 0x07, 0xf6,
                               0xe5, 0xd4, 0xc3, 0xb2, 0xa1, 8,    7,  6, 5,    4,    3,
                               2,    1,    0xff, 0xff, 0xff, 0xff, 77, 0, 0,    0,    0,
                               0,    0,    0,    0x68, 2,    0,    0,  0, 0,    0,    0};
  EXPECT_EQ(EncodeFrame(SomeFrame()), expected);
  EXPECT_EQ(DecodeFrame(expected), SomeFrame());
}

TEST(Frame, RefusesWhatItDoesNotWrite) {
  const FrameBytes good = EncodeFrame(SomeFrame());
  const std::pair<size_t, uint8_t> bad[] = {{0, 0}, {3, '2'}, {4, 0}, {4, 4}, {5, kOperationCount},
                                            {6, 9}, {7, 5}};
  for (const auto& [at, value] : bad) {
    FrameBytes bytes = good;
    bytes.at(at) = value;
    EXPECT_EQ(DecodeFrame(bytes), std::nullopt) << at;
  }
}

}  // namespace
}  // namespace muster::socket
