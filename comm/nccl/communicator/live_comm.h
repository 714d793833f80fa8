// One communicator of NCCL in this process, from the call that makes it to its end: guards calls to it, and has the
// operations under way. Shared by the Communicator that uses it and the watchdog that may abort it.
//
// Threads: any. One call of NCCL, or one group of them, is under way at a time. Such a call may wait for other ranks
// (nccl_api.h), so nothing but Make, Call and AwaitCall waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "comm/nccl/communicator/operations.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

class LiveComm {
 public:
  // `rank` is this process's in the communicator, `id` the communicator's for the activity table.
  LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, int rank, uint64_t id);

  int rank() const { return rank_; }
  uint64_t id() const { return id_; }
  const std::shared_ptr<Operations>& operations() const { return operations_; }

  // make(slot): a call that makes it, and writes to the slot at any time. BLOCKS until it returns. kInvalidUsage if it
  // was taken before or meanwhile: what is made after that is aborted here.
  NcclResult Make(const std::function<NcclResult(NcclComm* slot)>& make);
  // The same for a call on another communicator, which makes it: a part in a split.
  NcclComm* slot() { return &comm_; }
  // NCCL has written to the slot.
  bool begun() const { return Written() != nullptr; }
  // Make is under way, and NCCL has not written to the slot: that call cannot be ended now.
  bool out_of_reach() const;

  // function(comm), or kInvalidUsage if it was taken. BLOCKS until that returns.
  template <typename Function>
  NcclResult Call(const Function& function) {
    const std::lock_guard lock(calls_);
    const NcclComm comm = Present();
    return comm == nullptr ? NcclResult::kInvalidUsage : function(comm);
  }
  // Owns its lock if neither Make nor Call is under way; as long as it does, they wait.
  std::unique_lock<std::mutex> HoldCalls() { return std::unique_lock(calls_, std::try_to_lock); }
  // Its state (NcclApi::AsyncError): kInProgress while it is made, and if it was taken.
  NcclResult State() const;

  // From now on no call is made; the result is the caller's to destroy or abort, and null if there is none (yet). A call
  // under way still uses it: NCCL's abort ends it.
  NcclComm Take();
  // BLOCKS until the call under way has returned.
  void AwaitCall() { const std::lock_guard lock(calls_); }

 private:
  // NCCL's own threads write there, and read it until the call that makes it returns.
  NcclComm Written() const { return __atomic_load_n(&comm_, __ATOMIC_ACQUIRE); }
  NcclComm Present() const;
  // With state_ held.
  NcclComm Claim();

  const std::shared_ptr<NcclApi> nccl_;
  const int rank_;
  const uint64_t id_;
  const std::shared_ptr<Operations> operations_;
  std::mutex calls_;
  mutable std::mutex state_;  // taken after calls_; held for AsyncError, which waits for nothing
  bool making_ = false;
  bool taken_ = false;
  bool claimed_ = false;  // the taker has the handle
  NcclComm comm_ = nullptr;
};

}  // namespace muster::nccl
