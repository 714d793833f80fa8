#include "comm/nccl/communicator/start.h"

#include <atomic>
#include <chrono>
#include <vector>

#include "comm/group/gather_fields.h"
#include "comm/nccl/communicator/abort.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/communicator/start_report.h"
#include "comm/nccl/unique_ids/unique_ids.h"
#include "comm/ops/group_failure.h"
#include "comm/system/bounded_call.h"

namespace muster::nccl {
namespace {

// The deadlines of all ranks are the same, except for the moments in which they left the exchange of the ids.
constexpr Duration kReportGrace = std::chrono::seconds(3);

// Owned by the thread that calls NCCL, which may be abandoned.
struct Attempt {
  NcclComm comm = nullptr;
  NcclResult result = NcclResult::kInProgress;
  std::string cuda_problem;
  std::atomic<bool> entered = false;
  // Set by the thread at its end, and by the waiting one when it stops waiting: the second has the
  // communicator.
  std::atomic_flag passed;
  // The waiting thread's: all fields except `entered` are its own now.
  bool back = false;
};

// The part of NCCL's start that cannot be polled: it loads its plugins, and CUDA makes the context. `back`
// stays false if it did not return by the deadline, or before the group failed; the thread then aborts its
// result.
std::shared_ptr<Attempt> Begin(const NcclCore& core, std::vector<NcclId> ids, Deadline deadline) {
  auto attempt = std::make_shared<Attempt>();
  const auto call = [attempt, nccl = core.nccl, cuda = core.cuda, device = core.settings.device,
                     size = core.group.roster().size(), rank = core.group.rank(),
                     ids = std::move(ids)]() mutable {
    if (const CudaResult set = cuda->SetDevice(device); set != CudaResult::kSuccess) {
      attempt->cuda_problem = fmt::format("CUDA cannot use the GPU: {}", cuda->Explain(set));
      return;
    }
    attempt->entered = true;
    attempt->result = nccl->Init(&attempt->comm, size, rank, ids);
    if (!attempt->passed.test_and_set() || attempt->comm == nullptr) return;
    [[maybe_unused]] const NcclResult aborted = nccl->Abort(attempt->comm);
  };
  attempt->back = RunWithin(deadline, call, core.group.failure_fd()) || attempt->passed.test_and_set();
  return attempt;
}

NcclResult AwaitInit(const NcclCore& core, Attempt& attempt, Deadline deadline) {
  if (attempt.result != NcclResult::kInProgress) return attempt.result;
  const auto ask = [&] {
    NcclResult state = NcclResult::kSuccess;
    const NcclResult asked = core.nccl->AsyncError(attempt.comm, &state);
    return asked == NcclResult::kSuccess ? state : asked;
  };
  return Settle(ask, deadline, core.group.failure_fd());
}

constexpr std::string_view kRemedy =
    "nvidia-smi lists the processes that use the GPU; NCCL_DEBUG=INFO (nccl.debug: info) gives more detail; "
    "backend: socket avoids NCCL";

tl::unexpected<Error> Refuse(const NcclCore& core, const std::string& why,
                             std::string remedy = std::string(kRemedy)) {
  return Fail(FailGroup(
      core.group, {Code::kSystem,
                   fmt::format("{} could not start NCCL on {}: {}",
                               DescribeRank(core.group.roster(), core.group.rank()), core.settings.gpu, why),
                   std::move(remedy)}));
}

tl::unexpected<Error> RefuseFor(const NcclCore& core, NcclResult result) {
  constexpr NcclVersion kShares = {2, 30, 3};
  const std::string why = ExplainNccl(*core.nccl, result);
  const bool may_share = !core.settings.share_device || core.nccl->version().AtLeast(kShares);
  if (result != NcclResult::kInvalidUsage || may_share) return Refuse(core, why);
  return Refuse(core, why,
                fmt::format("nccl.share_device needs NCCL {} or newer, and this is {}; {}", ToString(kShares),
                            ToString(core.nccl->version()), kRemedy));
}

StartReport Report(const NcclCore& core, const Attempt& attempt, NcclResult state) {
  if (state == NcclResult::kSuccess) return {StartStage::kThrough, ""};
  StartReport report;
  if (attempt.back) {
    report.stage = StartStage::kWaiting;
  } else if (attempt.entered) {
    report.stage = StartStage::kNotReturned;
  }
  report.last_error = core.nccl->LastError();
  return report;
}

// All ranks report their progress; without a failure meanwhile every rank computes the same sentence.
Status Compare(const NcclCore& core, const StartReport& mine, Deadline deadline) {
  const Deadline reported = deadline.IsNever() ? deadline : Deadline::At(deadline.when() + kReportGrace);
  MUSTER_TRY(const std::vector<StartReport> reports,
             GatherFields(core.group, "nccl started", mine, "NCCL start", reported));
  return JudgeStart(core.group.roster(), reports, core.settings.timeouts.init);
}

}  // namespace

Result<NcclComm> StartNccl(const NcclCore& core, Deadline deadline) {
  MUSTER_TRY(NcclTerms terms, ExchangeNcclIds(core.group, *core.nccl, "nccl ids", deadline));
  deadline = terms.deadline;
  const std::shared_ptr<Attempt> attempt = Begin(core, std::move(terms.ids), deadline);
  NcclResult state = NcclResult::kInProgress;
  if (attempt->back) {
    if (!attempt->cuda_problem.empty()) return Refuse(core, attempt->cuda_problem);
    state = AwaitInit(core, *attempt, deadline);
  }
  Status all_through;
  if (state != NcclResult::kSuccess && state != NcclResult::kInProgress) {
    all_through = RefuseFor(core, state);
  } else {
    all_through = Compare(core, Report(core, *attempt, state), deadline);
    if (!all_through) all_through = Fail(FailGroup(core.group, all_through.error()));
  }
  if (all_through) {
    // The thread that started NCCL was another one.
    if (const CudaResult set = core.cuda->SetDevice(core.settings.device); set == CudaResult::kSuccess) {
      return attempt->comm;
    }
    all_through = Refuse(core, "its device cannot be used");
  }
  if (attempt->back) AbortComm(core, attempt->comm, all_through.error());
  return Fail(all_through.error());
}

}  // namespace muster::nccl
