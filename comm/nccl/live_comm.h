// One communicator of NCCL in this process: who may still call it, and what is under way on it. Shared by the
// Communicator that uses it and the watchdog that may abort it.
//
// Threads: any. The mutex is held for one call of NCCL at a time, none of which waits for another rank
// (nccl_api.h), so that an abort need not wait for an operation; and for a group of calls from Hold to
// Release, both in one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/nccl/cuda_api.h"
#include "comm/nccl/nccl_api.h"
#include "comm/nccl/operations.h"

namespace muster {

class LiveComm {
 public:
  // `rank` is this process's in the communicator, `id` the communicator's for the activity board.
  LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, NcclComm comm, int rank,
           uint64_t id);

  int rank() const { return rank_; }
  uint64_t id() const { return id_; }
  const std::shared_ptr<Operations>& operations() const { return operations_; }

  // function(comm); kInvalidUsage where it was taken away.
  template <typename Function>
  NcclResult Call(const Function& function) {
    const std::lock_guard lock(mutex_);
    return comm_ == nullptr ? NcclResult::kInvalidUsage : function(comm_);
  }
  // Its state (NcclApi::AsyncError): kInProgress, also while another thread is in a call; kSuccess; or what
  // went wrong.
  NcclResult State();
  // Nobody takes it meanwhile, but for one who has waited for too long.
  void Hold() { mutex_.lock(); }
  void Release() { mutex_.unlock(); }
  // Where a split may put its communicator: NCCL writes there at a time of its own, so it lives as long as
  // this.
  NcclComm* NewSlot();
  // From now on nobody calls it any more; the result is the caller's to destroy or abort, and null the second
  // time. Waits for a call under way for at most a second: one that hangs is what an abort is for.
  NcclComm Take();

 private:
  const std::shared_ptr<NcclApi> nccl_;
  const int rank_;
  const uint64_t id_;
  const std::shared_ptr<Operations> operations_;
  std::recursive_timed_mutex mutex_;
  NcclComm comm_;
  std::vector<std::unique_ptr<NcclComm>> slots_;
};

}  // namespace muster
