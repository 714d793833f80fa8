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
  return comm_ == nullptr ? NcclResult::kInvalidUsage : StateOf(comm_);
}

NcclResult LiveComm::StateOf(NcclComm comm) {
  NcclResult state = NcclResult::kSuccess;
  const NcclResult asked = nccl_->AsyncError(comm, &state);
  return asked == NcclResult::kSuccess ? state : asked;
}

NcclComm* LiveComm::NewSlot() {
  const std::lock_guard lock(mutex_);
  return slots_.emplace_back(std::make_unique<NcclComm>(nullptr)).get();
}

NcclResult LiveComm::StateOfPart(const NcclComm* slot) {
  const std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return NcclResult::kInvalidUsage;
  return *slot == nullptr ? NcclResult::kSuccess : StateOf(*slot);
}

NcclComm LiveComm::TakePart(NcclComm* slot) {
  const std::lock_guard lock(mutex_);
  return comm_ == nullptr ? nullptr : std::exchange(*slot, nullptr);
}

std::vector<NcclComm> LiveComm::TakeParts() {
  const auto lock = LockUntil(mutex_, Clock::now() + std::chrono::seconds(1));
  std::vector<NcclComm> parts;
  for (const std::unique_ptr<NcclComm>& slot : slots_) {
    if (NcclComm part = std::exchange(*slot, nullptr)) parts.push_back(part);
  }
  return parts;
}

NcclComm LiveComm::Take() {
  const auto lock = LockUntil(mutex_, Clock::now() + std::chrono::seconds(1));
  return std::exchange(comm_, nullptr);
}

}  // namespace muster
