// One communicator of NCCL in this process, from the call that makes it to its end: guards calls to it, and has the
// operations under way. Shared by the Communicator that uses it and the watchdog that may abort it.
//
// Threads: any. calls_ is held for one call of NCCL, or one group of them, at a time. Such a call may wait for other
// ranks (nccl_api.h), so neither State nor Take waits for calls_.
#pragma once

#include <atomic>
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

  // make(slot): a call that makes it, and writes to the slot at any time until it is done. BLOCKS until then, or, for
  // calls that do not block, until it is taken. kInvalidUsage if it is taken: what is made after that is aborted here.
  NcclResult Make(const std::function<NcclResult(NcclComm* slot)>& make);
  // The same for a call that another communicator makes: its part in a split.
  NcclComm* slot() { return &comm_; }
  NcclResult AwaitMade();
  // NCCL has written to the slot.
  bool begun() const { return begun_ || Written() != nullptr; }
  // Make has been called, and NCCL has not written to the slot: that call cannot be ended now.
  bool out_of_reach() const { return making_ && !begun(); }

  // function(comm). BLOCKS until that is done; kInvalidUsage if it is taken away before that, or was.
  template <typename Function>
  NcclResult Call(const Function& function) {
    const std::lock_guard lock(calls_);
    const NcclComm comm = Present();
    return comm == nullptr ? NcclResult::kInvalidUsage : Finish(function(comm));
  }
  // Its state (NcclApi::AsyncError): kInProgress, also while it is made or another thread is in a call; kSuccess; or the
  // error; kInvalidUsage if it was taken.
  NcclResult State();

  // From now on no call is made; the result is the caller's to destroy or abort, and null if there is none (yet). A call
  // under way still uses it: NCCL's abort ends it.
  NcclComm Take();
  // BLOCKS until the call under way has returned.
  void AwaitCall() { const std::lock_guard lock(calls_); }

 private:
  // NCCL's own threads write there.
  NcclComm Written() const { return __atomic_load_n(&comm_, __ATOMIC_ACQUIRE); }
  NcclComm Present() const { return taken_ ? nullptr : Written(); }
  // With calls_ held: the result of a call that does not block, when it is done.
  NcclResult Finish(NcclResult result);
  NcclResult Ask();

  const std::shared_ptr<NcclApi> nccl_;
  const int rank_;
  const uint64_t id_;
  const std::shared_ptr<Operations> operations_;
  std::mutex calls_;
  std::atomic<bool> making_ = false;
  std::atomic<bool> taken_ = false;
  std::atomic<bool> begun_ = false;
  NcclComm comm_ = nullptr;
};

}  // namespace muster::nccl
