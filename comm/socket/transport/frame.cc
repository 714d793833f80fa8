#include "comm/socket/transport/frame.h"

#include <bit>
#include <cstring>

namespace muster::socket {
namespace {

constexpr uint32_t kMagic = 0x3153554d;  // "MUS1"

// Headers are written for every message: plain stores, no allocation. muster runs on little-endian machines alone.
static_assert(std::endian::native == std::endian::little);

template <typename T>
void Put(FrameBytes& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T Get(std::span<const uint8_t, kFrameHeaderBytes> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

FrameBytes EncodeFrame(const Frame& frame) {
  FrameBytes bytes{};
  Put(bytes, 0, kMagic);
  bytes[4] = static_cast<uint8_t>(frame.kind);
  bytes[5] = static_cast<uint8_t>(frame.call.operation);
  bytes[6] = static_cast<uint8_t>(frame.call.type);
  bytes[7] = static_cast<uint8_t>(frame.call.reduce);
  Put(bytes, 8, frame.call.communicator);
  Put(bytes, 16, frame.call.sequence);
  Put(bytes, 24, frame.call.root);
  Put(bytes, 28, frame.call.count);
  Put(bytes, 36, frame.payload);
  return bytes;
}

std::optional<Frame> DecodeFrame(std::span<const uint8_t, kFrameHeaderBytes> bytes) {
  if (Get<uint32_t>(bytes, 0) != kMagic) return std::nullopt;
  if (bytes[4] < 1 || bytes[4] > 3 || bytes[5] >= kOperationCount) return std::nullopt;
  if (bytes[6] > static_cast<uint8_t>(DataType::kF64) || bytes[7] > static_cast<uint8_t>(ReduceOp::kAvg)) {
    return std::nullopt;
  }
  Frame frame;
  frame.kind = static_cast<FrameKind>(bytes[4]);
  frame.call.operation = static_cast<Operation>(bytes[5]);
  frame.call.type = static_cast<DataType>(bytes[6]);
  frame.call.reduce = static_cast<ReduceOp>(bytes[7]);
  frame.call.communicator = Get<uint64_t>(bytes, 8);
  frame.call.sequence = Get<uint64_t>(bytes, 16);
  frame.call.root = Get<int32_t>(bytes, 24);
  frame.call.count = Get<uint64_t>(bytes, 28);
  frame.payload = Get<uint64_t>(bytes, 36);
  return frame;
}

}  // namespace muster::socket
