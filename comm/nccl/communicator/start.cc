#include "comm/nccl/communicator/start.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

// Owned by the thread that calls NCCL, which may be abandoned. `result` and `cuda_problem` are the waiting thread's when
// that has returned.
struct Attempt {
  const pid_t owner = getpid();
  std::shared_ptr<LiveComm> live;
  NcclResult result = NcclResult::kInProgress;
  std::string cuda_problem;
  std::atomic<bool> entered = false;
  std::atomic<bool> returned = false;
};

// NCCL has been loaded, so its static objects are destroyed after this. A call that still uses them then would crash, and no
// call on another thread ends it: the process ends without them.
void EndBeforeNccl(const std::shared_ptr<Attempt>& attempt) {
  const auto end = [](int status, void* kept) {
    const std::unique_ptr<std::shared_ptr<Attempt>> mine(static_cast<std::shared_ptr<Attempt>*>(kept));
    const Attempt& its = **mine;
    if (its.returned || its.owner != getpid()) return;
    [[maybe_unused]] const int flushed = std::fflush(nullptr);
    _exit(status);
  };
  // Without memory for it the process ends as it would have.
  [[maybe_unused]] const int added = on_exit(end, new std::shared_ptr<Attempt>(attempt));
}

// kDeadline: NCCL did not return by the deadline, or before the group failed. kSystem: there is no thread for it.
Status Make(const NcclCore& core, const std::shared_ptr<Attempt>& attempt, std::vector<NcclId> ids,
            Deadline deadline) {
  const auto call = [attempt, nccl = core.nccl, cuda = core.cuda, device = core.settings.device,
                     size = core.group.roster().size(), rank = core.group.rank(),
                     ids = std::move(ids)]() mutable {
    if (const CudaResult set = cuda->SetDevice(device); set != CudaResult::kSuccess) {
      attempt->cuda_problem = fmt::format("CUDA cannot use the GPU: {}", cuda->Explain(set));
      attempt->returned = true;
      return;
    }
    attempt->entered = true;
    attempt->result = attempt->live->Make([&](NcclComm* slot) { return nccl->Init(slot, size, rank, ids); });
    attempt->returned = true;
  };
  EndBeforeNccl(attempt);
  Status made =
      RunWithin(deadline, {Code::kDeadline, "NCCL did not return in time"}, call, core.group.failure_fd());
  if (!made && made.error().code == Code::kSystem) attempt->returned = true;
  return made;
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
  // Of a rank that ends, others read the closed connection before the group has that failure. A rank's own error is the first one.
  if (result == NcclResult::kRemoteError || result == NcclResult::kSystemError)
    WaitForFailure(core.group, core.settings.cause_grace);
  const std::string why = ExplainNccl(*core.nccl, result);
  const bool may_share = !core.settings.share_device || core.nccl->version().AtLeast(kShares);
  if (result != NcclResult::kInvalidUsage || may_share) return Refuse(core, why);
  return Refuse(core, why,
                fmt::format("nccl.share_device needs NCCL {} or newer, and this is {}; {}", ToString(kShares),
                            ToString(core.nccl->version()), kRemedy));
}

StartReport Report(const NcclCore& core, const Attempt& attempt, bool through) {
  if (through) return {StartStage::kThrough, ""};
  StartReport report;
  if (attempt.live->begun()) {
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

Status StartNccl(const NcclCore& core, const std::shared_ptr<LiveComm>& live, Deadline deadline) {
  MUSTER_TRY(NcclTerms terms, ExchangeNcclIds(core.group, *core.nccl, "nccl ids", deadline));
  deadline = terms.deadline;
  const auto attempt = std::make_shared<Attempt>();
  attempt->live = live;
  const Status made = Make(core, attempt, std::move(terms.ids), deadline);
  if (!made && made.error().code == Code::kSystem)
    return Refuse(core, made.error().message, made.error().hint);
  if (made && !attempt->cuda_problem.empty()) return Refuse(core, attempt->cuda_problem);
  Status all_through;
  if (made && attempt->result != NcclResult::kSuccess) {
    all_through = RefuseFor(core, attempt->result);
  } else {
    all_through = Compare(core, Report(core, *attempt, made.has_value()), deadline);
    if (!all_through) all_through = Fail(FailGroup(core.group, all_through.error()));
  }
  if (all_through) {
    // The thread that started NCCL was another one.
    if (core.cuda->SetDevice(core.settings.device) == CudaResult::kSuccess) return {};
    all_through = Refuse(core, "its device cannot be used");
  }
  AbortAll(core, {live}, all_through.error());
  return all_through;
}

}  // namespace muster::nccl
