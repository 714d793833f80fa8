#include "comm/nccl/live_comm.h"

#include <chrono>
#include <utility>

#include "comm/base/timed_lock.h"

namespace muster {

LiveComm::LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, NcclComm comm, int rank,
                   uint64_t id)
    : nccl_(std::move(nccl)),
      rank_(rank),
      id_(id),
      operations_(std::make_shared<Operations>(std::move(cuda), id)),
      comm_(comm) {}

NcclResult LiveComm::State() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return NcclResult::kInProgress;
  return Call([this](NcclComm comm) {
    NcclResult state = NcclResult::kSuccess;
    const NcclResult asked = nccl_->AsyncError(comm, &state);
    return asked == NcclResult::kSuccess ? state : asked;
  });
}

NcclComm* LiveComm::NewSlot() {
  const std::lock_guard lock(mutex_);
  return slots_.emplace_back(std::make_unique<NcclComm>(nullptr)).get();
}

NcclComm LiveComm::Take() {
  const auto lock = LockUntil(mutex_, Clock::now() + std::chrono::seconds(1));
  return std::exchange(comm_, nullptr);
}

}  // namespace muster
