// A Communicator that takes host memory and does everything on the device: buffers are copied there, worked
// on in a stream of the call's own, and copied back when it is done. So what is written for host memory tests
// an NCCL backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "tests/comm/nccl/computing_cuda.h"

namespace muster::nccl {

// `inner` is the result's.
std::unique_ptr<Communicator> MakeThroughDevice(std::unique_ptr<Communicator> inner,
                                                std::shared_ptr<ComputingCuda> cuda);

}  // namespace muster::nccl
