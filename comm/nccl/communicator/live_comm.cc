#include "comm/nccl/communicator/live_comm.h"

#include <chrono>
#include <utility>

#include "comm/system/timed_lock.h"

namespace muster::nccl {
namespace {

// An abort does not wait longer for a call under way.
constexpr Duration kHungAfter = std::chrono::seconds(1);

}  // namespace

LiveComm::LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, NcclComm comm, int rank,
                   uint64_t id)
    : nccl_(std::move(nccl)),
      rank_(rank),
      id_(id),
      operations_(std::make_shared<Operations>(std::move(cuda), id)),
      comm_(comm) {}

NcclComm LiveComm::Present() const {
  const std::lock_guard lock(data_);
  return comm_;
}

NcclResult LiveComm::State() {
  const std::unique_lock lock(calls_, std::try_to_lock);
  if (!lock) return NcclResult::kInProgress;
  const NcclComm comm = Present();
  return comm == nullptr ? NcclResult::kInvalidUsage : StateOf(comm);
}

NcclResult LiveComm::StateOf(NcclComm comm) {
  NcclResult state = NcclResult::kSuccess;
  const NcclResult asked = nccl_->AsyncError(comm, &state);
  return asked == NcclResult::kSuccess ? state : asked;
}

NcclComm* LiveComm::NewSlot() {
  const std::lock_guard lock(data_);
  return slots_.emplace_back(std::make_unique<NcclComm>(nullptr)).get();
}

NcclResult LiveComm::StateOfPart(const NcclComm* slot) {
  const std::lock_guard lock(calls_);
  NcclComm part = nullptr;
  {
    const std::lock_guard data(data_);
    if (comm_ == nullptr) return NcclResult::kInvalidUsage;
    // A thread of NCCL's writes it.
    part = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  }
  return part == nullptr ? NcclResult::kInProgress : StateOf(part);
}

NcclComm LiveComm::TakePart(NcclComm* slot) {
  const std::lock_guard calls(calls_);
  const std::lock_guard data(data_);
  return comm_ == nullptr ? nullptr : std::exchange(*slot, nullptr);
}

std::vector<NcclComm> LiveComm::TakeParts() {
  const auto calls = LockUntil(calls_, Clock::now() + kHungAfter);
  const std::lock_guard data(data_);
  std::vector<NcclComm> parts;
  for (const std::unique_ptr<NcclComm>& slot : slots_) {
    if (NcclComm part = std::exchange(*slot, nullptr)) parts.push_back(part);
  }
  return parts;
}

NcclComm LiveComm::Take() {
  const auto calls = LockUntil(calls_, Clock::now() + kHungAfter);
  const std::lock_guard data(data_);
  return std::exchange(comm_, nullptr);
}

}  // namespace muster::nccl
