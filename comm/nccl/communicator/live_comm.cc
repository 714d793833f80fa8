#include "comm/nccl/communicator/live_comm.h"

#include <utility>

#include "comm/nccl/communicator/settle.h"

namespace muster::nccl {

LiveComm::LiveComm(std::shared_ptr<NcclApi> nccl, std::shared_ptr<CudaApi> cuda, int rank, uint64_t id)
    : nccl_(std::move(nccl)),
      rank_(rank),
      id_(id),
      operations_(std::make_shared<Operations>(std::move(cuda), id)) {}

NcclResult LiveComm::Make(const std::function<NcclResult(NcclComm*)>& make) {
  const std::lock_guard lock(calls_);
  making_ = true;
  const NcclResult made = taken_ ? NcclResult::kInvalidUsage : Finish(make(&comm_));
  making_ = false;
  if (!taken_) return made;
  // No other thread has its handle.
  if (NcclComm late = Take()) [[maybe_unused]]
    const NcclResult aborted = nccl_->Abort(late);
  return NcclResult::kInvalidUsage;
}

NcclResult LiveComm::AwaitMade() {
  const std::lock_guard lock(calls_);
  return Finish(NcclResult::kInProgress);
}

NcclResult LiveComm::Finish(NcclResult result) {
  if (result != NcclResult::kInProgress) return result;
  return Settle([this] { return Ask(); }, Deadline::Never(), -1);
}

NcclResult LiveComm::State() {
  const std::unique_lock lock(calls_, std::try_to_lock);
  return lock ? Ask() : NcclResult::kInProgress;
}

NcclResult LiveComm::Ask() {
  if (taken_) return NcclResult::kInvalidUsage;
  NcclComm comm = Written();
  if (comm == nullptr) return NcclResult::kInProgress;
  NcclResult state = NcclResult::kSuccess;
  const NcclResult asked = nccl_->AsyncError(comm, &state);
  return asked == NcclResult::kSuccess ? state : asked;
}

NcclComm LiveComm::Take() {
  taken_ = true;
  NcclComm comm = __atomic_exchange_n(&comm_, nullptr, __ATOMIC_ACQ_REL);
  if (comm != nullptr) begun_ = true;
  return comm;
}

}  // namespace muster::nccl
