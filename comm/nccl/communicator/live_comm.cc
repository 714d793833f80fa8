#include "comm/nccl/communicator/live_comm.h"

#include <utility>

namespace muster::nccl {

LiveComm::LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, int rank, uint64_t id)
    : nccl_(std::move(nccl)),
      rank_(rank),
      id_(id),
      operations_(std::make_shared<Operations>(std::move(cuda), id)) {}

NcclResult LiveComm::Make(const std::function<NcclResult(NcclComm*)>& make) {
  const std::lock_guard lock(calls_);
  {
    const std::lock_guard state(state_);
    if (taken_) return NcclResult::kInvalidUsage;
    making_ = true;
  }
  const NcclResult made = make(&comm_);
  NcclComm late = nullptr;
  {
    const std::lock_guard state(state_);
    making_ = false;
    if (!taken_) return made;
    late = Claim();
  }
  if (late != nullptr) [[maybe_unused]]
    const NcclResult aborted = nccl_->Abort(late);
  return NcclResult::kInvalidUsage;
}

bool LiveComm::out_of_reach() const {
  const std::lock_guard state(state_);
  return making_ && !begun();
}

NcclComm LiveComm::Present() const {
  const std::lock_guard state(state_);
  return taken_ ? nullptr : Written();
}

NcclResult LiveComm::State() const {
  const std::lock_guard lock(state_);
  NcclComm comm = Written();
  if (taken_ || making_ || comm == nullptr) return NcclResult::kInProgress;
  NcclResult state = NcclResult::kSuccess;
  const NcclResult asked = nccl_->AsyncError(comm, &state);
  return asked == NcclResult::kSuccess ? state : asked;
}

NcclComm LiveComm::Claim() {
  NcclComm comm = Written();
  return comm != nullptr && !std::exchange(claimed_, true) ? comm : nullptr;
}

NcclComm LiveComm::Take() {
  const std::lock_guard state(state_);
  taken_ = true;
  return Claim();
}

}  // namespace muster::nccl
