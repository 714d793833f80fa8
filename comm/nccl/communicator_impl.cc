#include "comm/nccl/communicator_impl.h"

#include <utility>

#include "comm/base/log.h"
#include "comm/nccl/abort.h"
#include "comm/nccl/bounded_call.h"
#include "comm/nccl/cause.h"
#include "comm/nccl/settle.h"
#include "comm/socket/arguments.h"
#include "comm/socket/entry.h"

namespace muster {
namespace {

// After its deadline the watchdog ends the operation; this is how long that may take.
constexpr Duration kWatchdogGrace = std::chrono::seconds(30);

}  // namespace

NcclCommunicator::NcclCommunicator(Shared shared, std::unique_ptr<Communicator> host,
                                   std::shared_ptr<LiveComm> live, std::vector<int> world_ranks)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      live_(std::move(live)),
      world_ranks_(std::move(world_ranks)) {
  shared_.core->group.activity().Add(live_->operations());
}

// Finalize, destroy, and the sockets' goodbye after it; the group's comes last, from its owner.
NcclCommunicator::~NcclCommunicator() {
  NcclCore& core = *shared_.core;
  if (core.InForkedChild()) return;
  core.group.activity().Remove(live_->operations().get());
  if (!shared_.watchdog->Remove(live_)) return;
  const Error cause = core.group.failure().value_or(Error{Code::kPeerLost, "it was still at work", {}});
  const bool well = !core.group.failure() && !core.broken.broken();
  if (well && LeaveNccl(Deadline::After(core.settings.timeouts.shutdown))) return;
  AbortAll(core, {live_}, cause);
}

Status NcclCommunicator::LeaveNccl(Deadline deadline) {
  NcclCore& core = *shared_.core;
  const auto finalize = [&](NcclComm comm) { return core.nccl->Finalize(comm); };
  NcclResult state = live_->Call(finalize);
  if (state == NcclResult::kInProgress || state == NcclResult::kSuccess) {
    state = Settle([this] { return live_->State(); }, deadline, core.group.failure_fd());
  }
  if (state != NcclResult::kSuccess) {
    LogDebug("NCCL's communicator was not finalized: {}", ExplainNccl(*core.nccl, state));
    return Fail(Code::kSystem, "{}", core.nccl->Describe(state));
  }
  live_->operations()->Close();
  const auto destroy = [nccl = core.nccl, comm = live_->Take()] {
    [[maybe_unused]] const NcclResult result = nccl->Destroy(comm);
  };
  // Nothing is under way any more: who hangs here is left behind.
  if (!RunWithin(deadline, destroy)) LogWarning("NCCL did not free its communicator in time");
  return {};
}

Deadline NcclCommunicator::DeadlineOf(Duration timeout) const {
  const Deadline latest = shared_.core->settings.timeouts.latest;
  const Deadline deadline = Deadline::After(timeout);
  return latest.Expired() ? deadline : deadline.EarlierOf(latest);
}

Status NcclCommunicator::Usable() const {
  NcclCore& core = *shared_.core;
  if (core.InForkedChild()) {
    return WithHint(
        Fail(Code::kUsage, "in a forked child: its communicator belongs to the parent, pid {}", core.owner),
        "neither CUDA nor NCCL survives a fork: exec a program of its own");
  }
  return CheckUsable(core.broken, core.group);
}

tl::unexpected<Error> NcclCommunicator::Break(const Error& error) const {
  NcclCore& core = *shared_.core;
  const Error failure = core.broken.Set(FailWithCause(core, error));
  shared_.watchdog->Wake();
  return Fail(failure);
}

Status NcclCommunicator::RunCollective(Operation operation, const ConstBuffer& elements,
                                       const CallOptions& options, const Launch& launch) {
  MUSTER_CHECK(CheckTimeout(operation, options));
  MUSTER_CHECK(Usable());
  MUSTER_TRY(const std::unique_lock alone, EnterAlone(operation, collective_));
  const std::lock_guard turn(turn_);
  Call call = CallOf(operation, elements);
  call.sequence = ++sequence_;
  return Queue(call, std::nullopt, options, launch);
}

Status NcclCommunicator::RunPair(Operation operation, const ConstBuffer& elements, int peer,
                                 const CallOptions& options, const Launch& launch) {
  MUSTER_CHECK(CheckTimeout(operation, options));
  MUSTER_CHECK(Usable());
  const std::lock_guard turn(turn_);
  Call call = CallOf(operation, elements);
  call.sequence = ++pair_sequence_[{operation, peer}];
  return Queue(call, world_ranks_[static_cast<size_t>(peer)], options, launch);
}

Status NcclCommunicator::Queue(const Call& call, std::optional<int> peer, const CallOptions& options,
                               const Launch& launch) {
  NcclCore& core = *shared_.core;
  // Nothing moves, on no rank.
  if (call.count == 0) return {};
  Call numbered = call;
  numbered.communicator = live_->id();
  const Duration timeout = options.timeout.value_or(core.settings.timeouts.collective);
  CudaResult health = CudaResult::kSuccess;
  live_->operations()->Sweep(&health);
  const auto stream = static_cast<CudaStream>(options.stream);
  Queued queued{live_->operations()->Begin(numbered, DeadlineOf(timeout), timeout, peer), stream};
  // The watchdog sleeps longer than so short a time.
  if (timeout < core.settings.watch_every) shared_.watchdog->Wake();
  const NcclResult result = live_->Call([&](NcclComm comm) { return launch(comm, stream); });
  queued.scratch = std::exchange(scratch_, nullptr);
  if (!grouping_) return Launched(result, {queued});
  grouped_.push_back(queued);
  if (result == NcclResult::kSuccess || result == NcclResult::kInProgress) return {};
  return Break(
      {Code::kSystem,
       fmt::format("{} of NCCL failed on {}: {}", Describe(numbered),
                   DescribeRank(core.group.roster(), core.group.rank()), ExplainNccl(*core.nccl, result)),
       {}});
}

Status NcclCommunicator::Launched(NcclResult result, const std::vector<Queued>& queued) {
  NcclCore& core = *shared_.core;
  NcclResult state = result;
  if (state == NcclResult::kInProgress) {
    // The first operation with a peer connects to it, and waits for it; the watchdog keeps the deadline.
    const Duration most = core.settings.timeouts.collective + kWatchdogGrace;
    state = Settle([this] { return live_->State(); }, DeadlineOf(most), core.group.failure_fd());
  }
  if (state != NcclResult::kSuccess) {
    MUSTER_CHECK(Usable());
    return Break({Code::kSystem,
                  fmt::format("NCCL failed on {}: {}", DescribeRank(core.group.roster(), core.group.rank()),
                              ExplainNccl(*core.nccl, state)),
                  {}});
  }
  for (const Queued& one : queued) {
    CudaResult recorded = live_->operations()->Launched(one.ticket, one.stream);
    if (recorded == CudaResult::kSuccess && one.scratch != nullptr) {
      recorded = core.cuda->FreeOn(one.scratch, one.stream);
    }
    if (recorded == CudaResult::kSuccess) continue;
    return Break(
        {Code::kSystem,
         fmt::format("the GPU failed on {}: {}", DescribeRank(core.group.roster(), core.group.rank()),
                     core.cuda->Explain(recorded)),
         {}});
  }
  return {};
}

Status NcclCommunicator::BeginGroup() {
  MUSTER_CHECK(Usable());
  turn_.lock();
  if (grouping_) {
    turn_.unlock();
    return Fail(Code::kUsage, "BeginGroup: a group has begun already");
  }
  grouping_ = true;
  live_->Hold();
  if (shared_.core->nccl->GroupStart() == NcclResult::kSuccess) return {};
  live_->Release();
  grouping_ = false;
  turn_.unlock();
  return Fail(Code::kSystem, "NCCL cannot begin a group: {}", shared_.core->nccl->LastError());
}

Status NcclCommunicator::EndGroup() {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn || !grouping_) return Fail(Code::kUsage, "EndGroup: no group has begun in this thread");
  grouping_ = false;
  const std::vector<Queued> queued = std::exchange(grouped_, {});
  // Not on a communicator that an abort has freed meanwhile.
  const NcclResult result = live_->Call([this](NcclComm) { return shared_.core->nccl->GroupEnd(); });
  live_->Release();
  turn_.unlock();  // BeginGroup's
  if (queued.empty()) return {};
  return Launched(result, queued);
}

Status NcclCommunicator::Synchronize(const CallOptions& options) {
  MUSTER_CHECK(Usable());
  NcclCore& core = *shared_.core;
  const Duration timeout = options.timeout.value_or(core.settings.timeouts.collective + kWatchdogGrace);
  CudaResult health = CudaResult::kSuccess;
  const auto ask = [&] {
    const bool done = live_->operations()->Sweep(&health);
    return done || health != CudaResult::kSuccess ? NcclResult::kSuccess : NcclResult::kInProgress;
  };
  const NcclResult waited = Settle(ask, DeadlineOf(timeout), core.group.failure_fd());
  // What an abort has ended counts as done in its stream, and is not.
  MUSTER_CHECK(Usable());
  if (waited == NcclResult::kSuccess && health == CudaResult::kSuccess) return {};
  if (health != CudaResult::kSuccess) {
    return Break(
        {Code::kSystem,
         fmt::format("the GPU failed on {}: {}", DescribeRank(core.group.roster(), core.group.rank()),
                     core.cuda->Explain(health)),
         {}});
  }
  return Break({Code::kDeadline,
                fmt::format("Synchronize: work of NCCL was still under way after {} on {}",
                            FormatDuration(timeout), DescribeRank(core.group.roster(), core.group.rank())),
                "look at what the other ranks are doing, or raise timeouts.collective"});
}

}  // namespace muster
