// Makes a GPU CUDA's current one of the calling thread, for a while: events, allocations and the default
// stream are of the current one, and the caller's own threads begin with another (the first).
#pragma once

#include <optional>

#include "comm/nccl/libraries/cuda_api.h"

namespace muster::nccl {

class DeviceScope {
 public:
  // If the device cannot be set, the calls within the scope fail and report it.
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
