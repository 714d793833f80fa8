// Each rank's message to the other ranks before the backend is chosen: its GPU, or the reason why it has
// none, and the versions of its libraries.
//
//   string problem, uuid, name | u32 ordinal | u8 peers hidden | string refusal, hint | string driver, cuda,
//   nccl little-endian
#pragma once

#include <string>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/nccl/devices/gpu_verdict.h"

namespace muster::nccl {

struct GpuHello {
  GpuVerdict verdict;
  // Not empty: this rank has GPUs and cannot determine its own; the group cannot begin.
  std::string refusal;
  std::string hint;
  // "13.0", "12.8", "2.27.5"; empty: not found, or not searched.
  std::string driver;
  std::string cuda;
  std::string nccl;

  friend bool operator==(const GpuHello&, const GpuHello&) = default;
};

Bytes EncodeGpuHello(const GpuHello& hello);
// Strict: kInternal "malformed GPU hello: ...".
Result<GpuHello> DecodeGpuHello(ByteView bytes);

}  // namespace muster::nccl
