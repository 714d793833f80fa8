// One communicator of NCCL in this process: who may still call it, and what is under way on it. Shared by the
// Communicator that uses it and the watchdog that may abort it.
//
// Threads: any. calls_ is held for one call of NCCL, or one group of them, at a time, none of which waits for
// another rank (nccl_api.h), so that an abort need not wait for an operation. A call may hang all the same;
// what the members point to is therefore guarded by data_, which is never held during a call.
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

  // function(comm); kInvalidUsage where it was taken away.
  template <typename Function>
  NcclResult Call(const Function& function) {
    const std::lock_guard lock(calls_);
    const NcclComm comm = Present();
    return comm == nullptr ? NcclResult::kInvalidUsage : function(comm);
  }
  // Its state (NcclApi::AsyncError): kInProgress, also while another thread is in a call; kSuccess; or what
  // went wrong.
  NcclResult State();
  // Where a split may put its part: NCCL writes there at a time of its own, so it lives as long as this. The
  // part is this one's, to be aborted with it, until TakePart.
  NcclComm* NewSlot();
  // Of the part in the slot, as State; kSuccess where there is none.
  NcclResult StateOfPart(const NcclComm* slot);
  // The part is the caller's now. Null where there is none, or this one was taken away and the part with it.
  NcclComm TakePart(NcclComm* slot);
  // All that are left, for an abort: once NCCL has given this one up, and writes to no slot any more.
  std::vector<NcclComm> TakeParts();
  // From now on nobody calls it any more; the result is the caller's to destroy or abort, and null the second
  // time. Waits for a call under way for at most a second: one that hangs is what an abort is for.
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
