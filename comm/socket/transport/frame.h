// The header in front of every message on a data connection, 44 bytes, little-endian:
//
//     u32 magic   u8 kind   u8 operation   u8 type   u8 reduce op
//     u64 communicator   u64 sequence   i32 root   u64 count   u64 payload bytes
//
// The payload follows. The receiver compares everything but the last field with the call it is in itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "comm/base/bytes.h"
#include "comm/ops/call.h"

namespace muster::socket {

enum class FrameKind : uint8_t {
  kData = 1,
  kLeave = 2,    // the sender is done with this communicator; nothing follows
  kInquiry = 3,  // the sender has been blocked in this call for long (inquiry.h)
};

inline constexpr size_t kFrameHeaderBytes = 44;
using FrameBytes = std::array<uint8_t, kFrameHeaderBytes>;

struct Frame {
  FrameKind kind = FrameKind::kData;
  Call call;
  uint64_t payload = 0;  // bytes

  friend bool operator==(const Frame&, const Frame&) = default;
};

FrameBytes EncodeFrame(const Frame& frame);
// Absent for anything that EncodeFrame does not write.
std::optional<Frame> DecodeFrame(std::span<const uint8_t, kFrameHeaderBytes> bytes);

}  // namespace muster::socket
