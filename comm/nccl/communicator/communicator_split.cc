// Split: the ranks agree on the parts over the sockets; NCCL then makes its own communicators of them.
#include <algorithm>
#include <chrono>

#include "comm/base/fields.h"
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/ops/arguments.h"
#include "comm/ops/counted_call.h"
#include "comm/ops/entry.h"
#include "comm/system/bounded_call.h"
#include "comm/system/system_calls.h"

namespace muster::nccl {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds(1);

}  // namespace

Result<std::unique_ptr<Communicator>> NcclCommunicator::Split(int color, int key,
                                                              const CallOptions& options) {
  const CountedCall counted(calls_);
  if (closed_) return Closed(Name(Operation::kSplit));
  MUSTER_CHECK(CheckTimeout(Operation::kSplit, options));
  MUSTER_CHECK(Usable());
  MUSTER_TRY(const std::unique_lock alone, EnterAlone(Operation::kSplit, collective_));
  Deadline deadline = DeadlineOf(TimeoutOf(options));
  MUSTER_TRY(const std::unique_lock turn, TakeTurn(Name(Operation::kSplit), options, deadline));
  if (grouping_) return Fail(Code::kUsage, "Split: not between BeginGroup and EndGroup");
  const auto what_is_left = [&] {
    // Always more than 0: otherwise the call fails with kUsage.
    return CallOptions{std::max(deadline.Remaining(), kShortest), nullptr};
  };
  // NCCL may deadlock if a split meets work that is under way; after the sockets' split all are done.
  if (options.timeout) {
    MUSTER_CHECK(Synchronize(what_is_left()));
  } else {
    // Earlier operations have their own deadlines.
    const Duration left = deadline.Remaining();
    MUSTER_CHECK(Synchronize({}));
    deadline = DeadlineOf(left);
  }
  MUSTER_TRY(std::unique_ptr<Communicator> host, host_->Split(color, key, what_is_left()));
  Members members;
  if (host) {
    MUSTER_TRY(members, AgreeOnMembers(*host, what_is_left()));
  }
  const NcclCore& core = *shared_.core;
  const auto part = std::make_shared<LiveComm>(core.nccl, core.cuda, host ? host->rank() : 0, members.id);
  if (!shared_.watchdog->Add(part)) {
    MUSTER_CHECK(Usable());
    return Fail(Code::kInternal, "the watchdog of NCCL has ended");
  }
  MUSTER_CHECK(SplitNccl(color, key, part, deadline));
  if (!host) {
    shared_.watchdog->Remove(part);
    return nullptr;
  }
  return std::make_unique<NcclCommunicator>(shared_, std::move(host), part, std::move(members.world_ranks));
}

// A failure ends the group, and the watchdog aborts both.
Status NcclCommunicator::SplitNccl(int color, int key, const std::shared_ptr<LiveComm>& part,
                                   Deadline deadline) {
  const NcclCore& core = *shared_.core;
  const auto result = std::make_shared<NcclResult>(NcclResult::kInProgress);
  const auto split = [result, whole = live_, part, color, key, nccl = core.nccl, cuda = core.cuda,
                      device = core.settings.device] {
    [[maybe_unused]] const CudaResult set = cuda->SetDevice(device);
    *result = whole->Call([&](NcclComm comm) { return nccl->Split(comm, color, key, part->slot()); });
  };
  const std::string self = DescribeRank(core.group.roster(), core.group.rank());
  const Status back =
      RunWithin(deadline,
                {Code::kDeadline, fmt::format("Split of NCCL did not finish in time on {}", self),
                 "look at what the other ranks are doing, or raise timeouts.collective"},
                split, core.group.failure_fd());
  if (back && *result == NcclResult::kSuccess) return {};
  MUSTER_CHECK(Usable());
  Error why = back ? Error{Code::kSystem, ExplainNccl(*core.nccl, *result)} : back.error();
  if (why.code == Code::kSystem)
    why.message = fmt::format("Split of NCCL failed on {}: {}", self, why.message);
  return Break(why);
}

Result<NcclCommunicator::Members> NcclCommunicator::AgreeOnMembers(Communicator& part,
                                                                   const CallOptions& options) const {
  // Two communicators of one group need the same random number to be taken for one in the log.
  MUSTER_TRY(const std::vector<Bytes> all,
             part.AllGatherBytes(EncodeFields(shared_.core->group.rank(), RandomNumber()), options));
  Members members;
  for (const Bytes& one : all) {
    FieldReader reader(one);
    uint64_t its_id = 0;
    reader(members.world_ranks.emplace_back(), its_id);
    if (members.world_ranks.size() == 1) members.id = its_id;
    MUSTER_CHECK(reader.Finish("part of a split"));
  }
  return members;
}

}  // namespace muster::nccl
