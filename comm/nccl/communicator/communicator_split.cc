// Split: the ranks agree on the parts over the sockets; NCCL then makes its own communicators of them.
#include <algorithm>
#include <chrono>
#include <random>

#include "comm/base/fields.h"
#include "comm/nccl/communicator/abort.h"
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/libraries/device_scope.h"
#include "comm/ops/arguments.h"
#include "comm/ops/entry.h"

namespace muster::nccl {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds(1);

// Two communicators of one group would need the same 64 random bits to be taken for one in the log.
uint64_t NewId() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

}  // namespace

Result<std::unique_ptr<Communicator>> NcclCommunicator::Split(int color, int key,
                                                              const CallOptions& options) {
  MUSTER_CHECK(CheckTimeout(Operation::kSplit, options));
  MUSTER_CHECK(Usable());
  MUSTER_TRY(const std::unique_lock alone, EnterAlone(Operation::kSplit, collective_));
  const std::lock_guard turn(turn_);
  if (grouping_) return Fail(Code::kUsage, "Split: not between BeginGroup and EndGroup");
  Deadline deadline = DeadlineOf(options.timeout.value_or(shared_.core->settings.timeouts.collective));
  const auto what_is_left = [&] {
    // Always more than 0: otherwise the call fails with kUsage.
    return CallOptions{std::max(deadline.Remaining(), kShortest), nullptr};
  };
  // NCCL may deadlock if a split meets work that is under way; after the sockets' split all are done.
  if (options.timeout) {
    MUSTER_CHECK(Synchronize(what_is_left()));
  } else {
    // Earlier operations have their own deadlines.
    MUSTER_CHECK(Synchronize({}));
    deadline = DeadlineOf(shared_.core->settings.timeouts.collective);
  }
  MUSTER_TRY(std::unique_ptr<Communicator> host, host_->Split(color, key, what_is_left()));
  MUSTER_TRY(NcclComm comm, SplitNccl(color, key, deadline));
  if (!host) return nullptr;
  Result<std::unique_ptr<Communicator>> part = MakePart(std::move(host), comm, what_is_left());
  if (!part) AbortComm(*shared_.core, comm, part.error());
  return part;
}

Result<NcclComm> NcclCommunicator::SplitNccl(int color, int key, Deadline deadline) {
  NcclCore& core = *shared_.core;
  const DeviceScope scope(*core.cuda, core.settings.device);
  NcclComm* slot = live_->NewSlot();
  NcclResult state = live_->Call([&](NcclComm comm) { return core.nccl->Split(comm, color, key, slot); });
  // The part is there when the whole is ready again, and may still be starting itself.
  const auto ask = [&] {
    const NcclResult whole = live_->State();
    return whole != NcclResult::kSuccess || color < 0 ? whole : live_->StateOfPart(slot);
  };
  if (state == NcclResult::kSuccess || state == NcclResult::kInProgress) {
    state = Settle(ask, deadline, core.group.failure_fd());
  }
  if (state == NcclResult::kSuccess) return live_->TakePart(slot);
  MUSTER_CHECK(Usable());
  const std::string self = DescribeRank(core.group.roster(), core.group.rank());
  if (state == NcclResult::kInProgress) {
    return Break({Code::kDeadline, fmt::format("Split of NCCL did not finish in time on {}", self),
                  "look at what the other ranks are doing, or raise timeouts.collective"});
  }
  return Break({Code::kSystem,
                fmt::format("Split of NCCL failed on {}: {}", self, ExplainNccl(*core.nccl, state)),
                {}});
}

Result<std::unique_ptr<Communicator>> NcclCommunicator::MakePart(std::unique_ptr<Communicator> host,
                                                                 NcclComm comm, const CallOptions& options) {
  NcclCore& core = *shared_.core;
  MUSTER_TRY(const std::vector<Bytes> members,
             host->AllGatherBytes(EncodeFields(core.group.rank(), NewId()), options));
  std::vector<int> world_ranks;
  uint64_t id = 0;  // the first member's
  for (const Bytes& member : members) {
    FieldReader reader(member);
    uint64_t its_id = 0;
    reader(world_ranks.emplace_back(), its_id);
    if (world_ranks.size() == 1) id = its_id;
    MUSTER_CHECK(reader.Finish("part of a split"));
  }
  auto live = std::make_shared<LiveComm>(core.nccl, core.cuda, comm, host->rank(), id);
  if (!shared_.watchdog->Add(live)) {
    MUSTER_CHECK(Usable());
    return Fail(Code::kInternal, "the watchdog of NCCL has ended");
  }
  return std::make_unique<NcclCommunicator>(shared_, std::move(host), std::move(live),
                                            std::move(world_ranks));
}

}  // namespace muster::nccl
