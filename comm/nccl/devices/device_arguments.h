// Checks of an operation's memory arguments. Every error is kUsage, found before anything is queued: it stays
// on this rank and breaks nothing.
#pragma once

#include <string_view>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/ops/call.h"

namespace muster::nccl {

// Accepts memory that GPU `device` can use, if the caller declares it so and CUDA agrees.
Status CheckDeviceBuffer(CudaApi& cuda, int device, Operation operation, std::string_view name,
                         const ConstBuffer& buffer);

// Both on the host or both on the device.
Status CheckSameMemory(Operation operation, std::string_view one_name, const ConstBuffer& one,
                       std::string_view other_name, const ConstBuffer& other);

}  // namespace muster::nccl
