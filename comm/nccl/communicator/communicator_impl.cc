#include "comm/nccl/communicator/communicator_impl.h"

#include <map>
#include <thread>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/nccl/communicator/abort.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/devices/device_arguments.h"
#include "comm/nccl/libraries/device_scope.h"
#include "comm/ops/arguments.h"
#include "comm/ops/counted_call.h"
#include "comm/ops/entry.h"
#include "comm/system/bounded_call.h"

namespace muster::nccl {

NcclCommunicator::NcclCommunicator(Shared shared, std::unique_ptr<Communicator> host,
                                   std::shared_ptr<LiveComm> live, std::vector<int> world_ranks)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      live_(std::move(live)),
      world_ranks_(std::move(world_ranks)),
      launcher_(*shared_.core->nccl, *shared_.core->cuda, host_->rank(), host_->size()) {
  shared_.core->group.activity().Add(live_->operations());
}

// Finalize, destroy, and the sockets' leave message after it; the group's comes last, from its owner.
NcclCommunicator::~NcclCommunicator() {
  NcclCore& core = *shared_.core;
  if (core.InForkedChild()) return;
  core.group.activity().Remove(live_->operations().get());
  if (!shared_.watchdog->Remove(live_)) return;
  const Error cause = core.group.failure().value_or(Error{Code::kPeerLost, "it was still at work"});
  const bool well = !core.group.failure() && !core.broken.broken();
  if (well && LeaveNccl(Deadline::After(core.settings.timeouts.shutdown))) return;
  AbortAll(core, {live_}, cause);
}

// Calls on the host end immediately, those on the GPU when they are queued, or at their deadline.
bool NcclCommunicator::Close(Deadline deadline) {
  constexpr auto kAgain = std::chrono::milliseconds(1);
  closed_ = true;
  if (!host_->Close(deadline)) return false;
  for (; calls_ > 0; std::this_thread::sleep_for(kAgain)) {
    if (deadline.Expired()) return false;
  }
  return true;
}

Status NcclCommunicator::LeaveNccl(Deadline deadline) {
  NcclCore& core = *shared_.core;
  const auto state = std::make_shared<NcclResult>(NcclResult::kInProgress);
  // Waits for what is under way, on all ranks.
  const auto finalize = [state, live = live_, nccl = core.nccl, cuda = core.cuda,
                         device = core.settings.device] {
    [[maybe_unused]] const CudaResult set = cuda->SetDevice(device);
    *state = live->Call([&](NcclComm comm) { return nccl->Finalize(comm); });
  };
  const bool back = RunAnywhereWithin(deadline, finalize, core.group.failure_fd());
  if (!back || *state != NcclResult::kSuccess) {
    const std::string why = back ? ExplainNccl(*core.nccl, *state) : "it did not return in time";
    LogDebug("NCCL's communicator was not finalized: {}", why);
    return Fail(Code::kSystem, "{}", why);
  }
  live_->operations()->Close();
  const auto destroy = [nccl = core.nccl, cuda = core.cuda, device = core.settings.device,
                        comm = live_->Take()] {
    [[maybe_unused]] const CudaResult set = cuda->SetDevice(device);
    [[maybe_unused]] const NcclResult result = nccl->Destroy(comm);
  };
  // Nothing is under way now: a thread that hangs here is abandoned.
  if (!RunAnywhereWithin(deadline, destroy)) LogWarning("NCCL did not free its communicator in time");
  return {};
}

Deadline NcclCommunicator::DeadlineOf(Duration timeout) const {
  const NcclCore& core = *shared_.core;
  // The end of the job may become known after the start.
  const Deadline configured = core.settings.timeouts.latest;
  const Deadline latest = configured.IsNever() ? core.group.latest() : configured;
  const Deadline deadline = Deadline::After(timeout);
  return latest.Expired() ? deadline : deadline.EarlierOf(latest);
}

Duration NcclCommunicator::TimeoutOf(const CallOptions& options) const {
  return options.timeout.value_or(shared_.core->settings.timeouts.collective);
}

Deadline NcclCommunicator::Patience(Deadline deadline) const {
  return deadline.IsNever() ? deadline
                            : Deadline::At(deadline.when() + shared_.core->settings.watchdog_grace);
}

Status NcclCommunicator::Usable() const {
  NcclCore& core = *shared_.core;
  if (core.InForkedChild()) {
    return WithHint(
        Fail(Code::kUsage, "in a forked child: its communicator belongs to the parent, pid {}", core.owner),
        "exec a program of its own: neither CUDA nor NCCL survives a fork");
  }
  return CheckUsable(core.broken, core.group);
}

Result<std::unique_lock<std::recursive_mutex>> NcclCommunicator::TakeTurn(std::string_view operation,
                                                                          const CallOptions& options,
                                                                          Deadline deadline) {
  const NcclCore& core = *shared_.core;
  std::unique_lock turn(turn_, std::defer_lock);
  const auto ask = [&] { return turn.try_lock() ? NcclResult::kSuccess : NcclResult::kInProgress; };
  const NcclResult taken = Settle(ask, deadline, core.group.failure_fd());
  if (taken == NcclResult::kSuccess) return turn;
  MUSTER_CHECK(Usable());
  return Break(
      {Code::kDeadline,
       fmt::format("{}: another thread of {} was in a call or between BeginGroup and EndGroup for {}",
                   operation, DescribeRank(core.group.roster(), core.group.rank()),
                   FormatDuration(TimeoutOf(options))),
       "call EndGroup in the thread that called BeginGroup, after an error as well"});
}

tl::unexpected<Error> NcclCommunicator::Break(const Error& error) const {
  NcclCore& core = *shared_.core;
  const Error failure = core.broken.Set(FailWithCause(core, error));
  shared_.watchdog->Wake();
  return Fail(failure);
}

// Neither waits for the GPU. A barrier has no buffers, so it proves nothing about the GPU's work.
Status NcclCommunicator::Perform(const OperationRequest& request, const CallOptions& options) {
  const CountedCall counted(calls_);
  if (closed_) return Closed(Name(request.operation));
  MUSTER_CHECK(Usable());
  const Operation operation = request.operation;
  const RequestBuffers buffers = BuffersOf(request, rank(), size());
  if (buffers.other) {
    MUSTER_CHECK(
        CheckSameMemory(operation, buffers.own_name, buffers.own, buffers.other_name, *buffers.other));
  }
  if (buffers.own.memory == Memory::kHost) return host_->Perform(request, options);
  const NcclCore& core = *shared_.core;
  MUSTER_CHECK(CheckRequest(request, buffers, rank(), size(),
                            std::bind_front(CheckDeviceBuffer, std::ref(*core.cuda), core.settings.device)));
  return Run(request, buffers.own, options);
}

Result<std::vector<Bytes>> NcclCommunicator::PerformBytes(Operation operation, ByteView mine, int root,
                                                          const CallOptions& options) {
  const CountedCall counted(calls_);
  MUSTER_CHECK(Usable());
  return host_->PerformBytes(operation, mine, root, options);
}

Status NcclCommunicator::Run(const OperationRequest& request, const ConstBuffer& elements,
                             const CallOptions& options) {
  MUSTER_CHECK(CheckTimeout(request.operation, options));
  MUSTER_CHECK(Usable());
  const bool pair = HasPeer(request.operation);
  std::unique_lock<std::mutex> alone;
  if (!pair) {
    MUSTER_TRY(alone, EnterAlone(request.operation, collective_));
  }
  const Deadline deadline = DeadlineOf(TimeoutOf(options));
  MUSTER_TRY(const std::unique_lock turn, TakeTurn(Name(request.operation), options, deadline));
  Call call = CallOf(request.operation, elements);
  call.sequence = pair ? ++pair_sequence_[{request.operation, request.root}] : ++sequence_;
  const auto peer = pair ? std::optional(world_ranks_[static_cast<size_t>(request.root)]) : std::nullopt;
  return Queue(call, peer, request, options, deadline);
}

Status NcclCommunicator::Queue(const Call& call, std::optional<int> peer, const OperationRequest& request,
                               const CallOptions& options, Deadline deadline) {
  NcclCore& core = *shared_.core;
  // Nothing moves, on no rank.
  if (call.count == 0) return {};
  Call numbered = call;
  numbered.communicator = live_->id();
  const Duration timeout = TimeoutOf(options);
  const DeviceScope scope(*core.cuda, core.settings.device);
  if (live_->operations()->Many()) {
    CudaResult health = CudaResult::kSuccess;
    live_->operations()->Sweep(&health);
  }
  Queued queued;
  queued.ticket = live_->operations()->Begin(numbered, deadline, timeout, peer);
  queued.deadline = deadline;
  queued.stream = static_cast<CudaStream>(options.stream);
  queued.request = request;
  // The watchdog sleeps longer than so short a time.
  if (timeout < core.settings.watch_every) shared_.watchdog->Wake();
  if (!grouping_) return LaunchAll({queued});
  grouped_.push_back(queued);
  return {};
}

Status NcclCommunicator::LaunchAll(std::vector<Queued> queued) {
  const NcclResult result = live_->Call([&](NcclComm comm) {
    const auto start = [&](Queued& one) { return launcher_.Launch(one.request, comm, one.stream, one.copy); };
    if (queued.size() == 1) return start(queued.front());
    return launcher_.InGroup([&] {
      NcclResult worst = NcclResult::kSuccess;
      for (Queued& one : queued) worst = WorseOf(worst, start(one));
      return worst;
    });
  });
  return Launched(result, queued);
}

Error NcclCommunicator::LaunchError(NcclResult result, const std::vector<Queued>& queued) const {
  const NcclCore& core = *shared_.core;
  for (const Queued& one : queued) {
    if (one.copy.result != CudaResult::kSuccess) return GpuError(one.copy.result);
  }
  return {Code::kSystem,
          fmt::format("NCCL failed on {}: {}", DescribeRank(core.group.roster(), core.group.rank()),
                      ExplainNccl(*core.nccl, result))};
}

Status NcclCommunicator::Launched(NcclResult result, const std::vector<Queued>& queued) {
  NcclCore& core = *shared_.core;
  if (result != NcclResult::kSuccess) {
    MUSTER_CHECK(Usable());
    return Break(LaunchError(result, queued));
  }
  std::map<CudaStream, std::vector<Operations::Ticket>> by_stream;
  for (const Queued& one : queued) by_stream[one.stream].push_back(one.ticket);
  for (const auto& [stream, tickets] : by_stream) {
    const CudaResult recorded = live_->operations()->Launched(tickets, stream);
    if (recorded != CudaResult::kSuccess) return Break(GpuError(recorded));
  }
  for (const Queued& one : queued) {
    if (one.copy.memory == nullptr) continue;
    const CudaResult freed = core.cuda->FreeOn(one.copy.memory, one.stream);
    if (freed != CudaResult::kSuccess) return Break(GpuError(freed));
  }
  return {};
}

Error NcclCommunicator::GpuError(CudaResult result) const {
  const NcclCore& core = *shared_.core;
  return {Code::kSystem,
          fmt::format("the GPU failed on {}: {}", DescribeRank(core.group.roster(), core.group.rank()),
                      core.cuda->Explain(result))};
}

Status NcclCommunicator::BeginGroup() {
  const CountedCall counted(calls_);
  if (closed_) return Closed("BeginGroup");
  MUSTER_CHECK(Usable());
  MUSTER_TRY(std::unique_lock turn, TakeTurn("BeginGroup", {}, DeadlineOf(TimeoutOf({}))));
  if (grouping_) return Fail(Code::kUsage, "BeginGroup: a group has begun already");
  grouping_ = true;
  turn.release();
  return {};
}

// NCCL receives the group only at its end: its own groups are per thread. A group that an abort interrupts
// could neither be ended nor left.
Status NcclCommunicator::EndGroup() {
  const CountedCall counted(calls_);
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn || !grouping_) return Fail(Code::kUsage, "EndGroup: no group has begun in this thread");
  grouping_ = false;
  std::vector<Queued> queued = std::exchange(grouped_, {});
  turn_.unlock();  // BeginGroup's
  if (closed_) return Closed("EndGroup");
  if (queued.empty()) return {};
  const DeviceScope scope(*shared_.core->cuda, shared_.core->settings.device);
  return LaunchAll(std::move(queued));
}

Status NcclCommunicator::Synchronize(const CallOptions& options) {
  const CountedCall counted(calls_);
  if (closed_) return Closed("Synchronize");
  if (options.timeout && *options.timeout <= Duration::zero()) {
    return Fail(Code::kUsage, "Synchronize: the timeout must be more than 0");
  }
  MUSTER_CHECK(Usable());
  NcclCore& core = *shared_.core;
  Operations& operations = *live_->operations();
  CudaResult health = CudaResult::kSuccess;
  const auto ask = [&] {
    const bool done = operations.Sweep(&health);
    return done || health != CudaResult::kSuccess ? NcclResult::kSuccess : NcclResult::kInProgress;
  };
  NcclResult waited = NcclResult::kInProgress;
  do {
    // Each operation has its own deadline, which the watchdog keeps; further ones may be queued meanwhile.
    const Deadline deadline = options.timeout ? DeadlineOf(*options.timeout) : Patience(operations.Last());
    waited = Settle(ask, deadline, core.group.failure_fd());
    // An operation that an abort has ended counts as done in its stream, but is not.
    MUSTER_CHECK(Usable());
  } while (waited == NcclResult::kInProgress && !options.timeout && !Patience(operations.Last()).Expired());
  if (health != CudaResult::kSuccess) return Break(GpuError(health));
  if (waited == NcclResult::kSuccess) return {};
  const std::string limit =
      options.timeout ? "after " + FormatDuration(*options.timeout) : std::string("after its deadline");
  return Break({Code::kDeadline,
                fmt::format("Synchronize: work of NCCL was still under way {} on {}", limit,
                            DescribeRank(core.group.roster(), core.group.rank())),
                "look at what the other ranks are doing, or raise timeouts.collective"});
}

}  // namespace muster::nccl
