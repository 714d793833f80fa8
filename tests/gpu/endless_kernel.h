// A kernel that never ends, on this rank's GPU: its stream hangs, as if the GPU did.
#pragma once

#include "comm/base/error.h"
#include "comm/nccl/libraries/cuda_api.h"

namespace muster {

// The calling thread must have used the GPU before. Error: kSystem with the driver's number.
Status LaunchEndlessKernel(nccl::CudaStream stream);

}  // namespace muster
