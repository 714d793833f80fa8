// A rank's findings about its GPU, before the group decides whether NCCL is used.
#pragma once

#include <string>

#include "comm/base/error.h"
#include "comm/nccl/devices/device_choice.h"
#include "comm/nccl/libraries/cuda_api.h"

namespace muster::nccl {

// A value. Without a GPU `problem` is the reason, and the remaining fields are meaningless.
struct GpuVerdict {
  std::string problem;        // empty: there is one
  int ordinal = 0;            // in the visible list
  std::string uuid;           // "GPU-3b8f..."
  std::string name;           // "NVIDIA H100 80GB HBM3"
  bool peers_hidden = false;  // device_choice.h

  bool usable() const { return problem.empty(); }

  friend bool operator==(const GpuVerdict&, const GpuVerdict&) = default;
};

// Queries the driver for the GPUs visible to this process, and picks this rank's; fills in
// `question.visible`. Does not occupy the GPU: no context is made. A machine without driver or GPU is a
// verdict. Error: kConfiguration if there are GPUs but not one for each rank of the node. BLOCKS while the
// driver starts, which takes seconds on a large node: call it so that it can be abandoned.
Result<GpuVerdict> ExamineGpu(CudaApi& cuda, DeviceQuestion question);

}  // namespace muster::nccl
