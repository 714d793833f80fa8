// A GPU as CUDA's current one of the calling thread, for a while: events, allocations and the default stream
// belong to the current one, and threads of the caller's own begin with another (the first).
#pragma once

#include <optional>

#include "comm/nccl/libraries/cuda_api.h"

namespace muster::nccl {

class DeviceScope {
 public:
  // Where it cannot be had, what is called in it fails, and says so.
  DeviceScope(CudaApi& cuda, int device) : cuda_(cuda) {
    int current = device;
    if (cuda_.CurrentDevice(&current) != CudaResult::kSuccess || current == device) return;
    if (cuda_.SetDevice(device) == CudaResult::kSuccess) before_ = current;
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (before_) [[maybe_unused]]
      const CudaResult result = cuda_.SetDevice(*before_);
  }

 private:
  CudaApi& cuda_;
  std::optional<int> before_;
};

}  // namespace muster::nccl
