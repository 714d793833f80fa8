// A call in three words, as a header of the shared memory has room for. The communicator is the segment's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "comm/ops/call.h"

namespace muster::socket {

using CallWords = std::array<uint64_t, 3>;

inline CallWords PackCall(const Call& call) {
  return {call.sequence,
          uint64_t{static_cast<uint32_t>(call.root)} << 32 |
              uint64_t{static_cast<uint8_t>(call.reduce)} << 16 |
              uint64_t{static_cast<uint8_t>(call.type)} << 8 | static_cast<uint8_t>(call.operation),
          call.count};
}

// Absent for anything that PackCall does not write.
inline std::optional<Call> UnpackCall(const CallWords& words, uint64_t communicator) {
  const auto byte = [&](int shift) { return static_cast<uint8_t>(words[1] >> shift); };
  if (byte(0) >= kOperationCount || byte(8) > static_cast<uint8_t>(DataType::kF64) ||
      byte(16) > static_cast<uint8_t>(ReduceOp::kAvg) || byte(24) != 0) {
    return std::nullopt;
  }
  Call call;
  call.communicator = communicator;
  call.sequence = words[0];
  call.operation = static_cast<Operation>(byte(0));
  call.type = static_cast<DataType>(byte(8));
  call.reduce = static_cast<ReduceOp>(byte(16));
  call.root = static_cast<int32_t>(static_cast<uint32_t>(words[1] >> 32));
  call.count = words[2];
  return call;
}

}  // namespace muster::socket
