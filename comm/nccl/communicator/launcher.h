// The calls of NCCL for one operation on device memory. Those that NCCL lacks are sends and receives, as one group.
//
// Waits for nothing: the GPU works later, in the stream.
#pragma once

#include <functional>

#include "comm/communicator.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// A copy that an operation needs, made in its stream.
struct StreamCopy {
  void* memory = nullptr;  // freed behind the operation, by the caller
  CudaResult result = CudaResult::kSuccess;
};

class Launcher {
 public:
  Launcher(NcclApi& nccl, CudaApi& cuda, int rank, int size)
      : nccl_(nccl), cuda_(cuda), rank_(rank), size_(size) {}

  // Without a copy (`copy.result`) nothing of the operation is launched.
  NcclResult Launch(const OperationRequest& request, NcclComm comm, CudaStream stream,
                    StreamCopy& copy) const;
  // Several calls as one; of all results the worst.
  NcclResult InGroup(const std::function<NcclResult()>& calls) const;

 private:
  NcclResult Gather(const OperationRequest& request, NcclComm comm, CudaStream stream) const;
  NcclResult Scatter(const OperationRequest& request, NcclComm comm, CudaStream stream) const;
  NcclResult ExchangeBlocks(const ConstBuffer& send, const Buffer& receive, NcclComm comm, CudaStream stream,
                            StreamCopy& copy) const;

  NcclApi& nccl_;
  CudaApi& cuda_;
  const int rank_;
  const int size_;
};

}  // namespace muster::nccl
