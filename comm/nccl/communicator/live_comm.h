// One communicator of NCCL in this process: guards calls to it, and has the operations under way. Shared by
// the Communicator that uses it and the watchdog that may abort it.
//
// Threads: any. calls_ is held for one call of NCCL, or one group of them, at a time. No such call waits for
// another rank (nccl_api.h), so that an abort need not wait for an operation. Still, a call may hang. So the
// objects that the members point to are guarded by data_, which is never held during a call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/nccl/communicator/operations.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

class LiveComm {
 public:
  // `rank` is this process's in the communicator, `id` the communicator's for the activity table.
  LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, NcclComm comm, int rank,
           uint64_t id);

  int rank() const { return rank_; }
  uint64_t id() const { return id_; }
  const std::shared_ptr<Operations>& operations() const { return operations_; }

  // function(comm); kInvalidUsage if it was taken away.
  template <typename Function>
  NcclResult Call(const Function& function) {
    const std::lock_guard lock(calls_);
    const NcclComm comm = Present();
    return comm == nullptr ? NcclResult::kInvalidUsage : function(comm);
  }
  // Its state (NcclApi::AsyncError): kInProgress, also while another thread is in a call; kSuccess; or the
  // error.
  NcclResult State();
  // The place for the part of a split. NCCL writes there asynchronously, so it exists as long as this. This
  // owns the part, and aborts it with itself, until TakePart.
  NcclComm* NewSlot();
  // Of the part in the slot, as State; kInProgress while there is none.
  NcclResult StateOfPart(const NcclComm* slot);
  // The part is the caller's now. Null if there is none, or if this one was taken away and the part with it.
  NcclComm TakePart(NcclComm* slot);
  // All remaining parts, for an abort: NCCL has released this one and no longer writes to a slot.
  std::vector<NcclComm> TakeParts();
  // From now on no call is made; the result is the caller's to destroy or abort, and null the second time.
  // Waits at most a second for a call under way: one that hangs is ended by the abort.
  NcclComm Take();

 private:
  NcclComm Present() const;
  // With calls_ held.
  NcclResult StateOf(NcclComm comm);

  const std::shared_ptr<NcclApi> nccl_;
  const int rank_;
  const uint64_t id_;
  const std::shared_ptr<Operations> operations_;
  std::timed_mutex calls_;
  mutable std::mutex data_;  // taken after calls_
  NcclComm comm_;
  std::vector<std::unique_ptr<NcclComm>> slots_;
};

}  // namespace muster::nccl
