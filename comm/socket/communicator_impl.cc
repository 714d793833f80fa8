#include "comm/socket/communicator_impl.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "comm/base/fields.h"
#include "comm/ops/arguments.h"
#include "comm/ops/counted_call.h"
#include "comm/ops/group_failure.h"
#include "comm/socket/reduce/reduce_kernels.h"
#include "comm/socket/shm/agreement.h"

namespace muster::socket {
namespace {

// Beside this length the setup of shared memory costs little.
constexpr size_t kMuch = size_t{256} * 1024;

bool SharesNodes(const Topology& topology) {
  return topology.nodes().size() < static_cast<size_t>(topology.size());
}

// As Chooser::Choose takes them.
size_t DecidingBytes(const Call& call, int ranks) {
  switch (call.operation) {
    case Operation::kReduce:
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
      return call.count * SizeOf(WorkType(call.type));
    case Operation::kAllToAll:
      return call.count * SizeOf(call.type) / static_cast<size_t>(ranks);
    default:
      return call.count * SizeOf(call.type);
  }
}

// In a forked child the end of the mesh would stop the parent from watching its listeners: the epoll
// descriptor is the same one.
void KeepForGood(const std::shared_ptr<const SocketCore>& core) {
  static auto& kept = *new std::vector<std::shared_ptr<const SocketCore>>;
  kept.push_back(core);
}

// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014): SplitMix64's finaliser.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// 64 well-mixed bits: two communicators of one group would need the same number to meet, and every message
// also carries the call.
uint64_t SubgroupId(uint64_t parent, uint64_t sequence, int color) {
  return Mix(Mix(Mix(parent) + sequence) + static_cast<uint64_t>(color) + 1);
}

// The members `ranks` of a roster with nodes and local ranks renumbered; group id and payloads stay.
Roster SelectRanks(const Roster& roster, const std::vector<int>& ranks) {
  Roster selected;
  selected.group_id = roster.group_id;
  std::vector<int> new_node(roster.nodes.size(), -1);
  std::vector<int> local_size;
  for (const int rank : ranks) {
    Roster::Member member = roster.members[static_cast<size_t>(rank)];
    int& node = new_node[static_cast<size_t>(member.node)];
    if (node < 0) {
      node = static_cast<int>(selected.nodes.size());
      selected.nodes.push_back(roster.nodes[static_cast<size_t>(member.node)]);
      local_size.push_back(0);
    }
    member.node = node;
    member.local_rank = local_size[static_cast<size_t>(node)]++;
    selected.members.push_back(std::move(member));
  }
  return selected;
}

struct SplitChoice {
  int color = 0;
  int key = 0;
};

// The subgroup of `parent.rank`, given what every rank of the parent chose in its operation number `sequence`, the same
// on every rank; absent for a negative colour.
std::optional<Members> FormSubgroup(const Members& parent, const std::vector<SplitChoice>& choices,
                                    uint64_t sequence) {
  const int color = choices[static_cast<size_t>(parent.rank)].color;
  if (color < 0) return std::nullopt;
  std::vector<int> ranks;
  for (size_t rank = 0; rank < choices.size(); ++rank) {
    if (choices[rank].color == color) ranks.push_back(static_cast<int>(rank));
  }
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return choices[static_cast<size_t>(rank)].key; });
  Members members;
  members.communicator = SubgroupId(parent.communicator, sequence, color);
  members.rank = static_cast<int>(std::ranges::find(ranks, parent.rank) - ranks.begin());
  members.roster = std::make_shared<const Roster>(SelectRanks(*parent.roster, ranks));
  for (const int rank : ranks) members.world_ranks.push_back(parent.world_ranks[static_cast<size_t>(rank)]);
  return members;
}

}  // namespace

Result<std::unique_ptr<Communicator>> SocketCommunicator::Create(std::shared_ptr<const SocketCore> core,
                                                                 Members members) {
  Topology topology(*members.roster, members.rank);
  MUSTER_TRY(Chooser chooser, Chooser::Create(LayoutOf(topology), core->options.algorithms));
  return std::unique_ptr<Communicator>(
      new SocketCommunicator(std::move(core), std::move(members), std::move(topology), std::move(chooser)));
}

SocketCommunicator::SocketCommunicator(std::shared_ptr<const SocketCore> core, Members members,
                                       Topology topology, Chooser chooser)
    : core_(std::move(core)),
      members_(std::move(members)),
      topology_(std::move(topology)),
      history_(std::make_shared<CallHistory>()),
      chooser_(std::move(chooser)),
      connections_(core_->mesh, members_.communicator, Purpose::kCollective, members_.world_ranks),
      engine_(connections_, history_.get(), core_->engine_options(&closed_)),
      memory_settled_(!(core_->options.shared_memory && SharesNodes(topology_))),
      point_to_point_(*core_, members_, closed_) {
  core_->mesh->AddCallHistory(members_.communicator, history_);
  core_->group.activity().Add(history_);
}

SocketCommunicator::~SocketCommunicator() {
  if (core_->InForkedChild()) {
    KeepForGood(core_);
    // Its pages are not in the child (MADV_DONTFORK), where other memory may be in their place now; the name of
    // its doorbell is the parent's.
    static_cast<void>(memory_.release());
    return;
  }
  core_->mesh->RemoveCallHistory(members_.communicator);
  core_->group.activity().Remove(history_.get());
  // After an error the other ranks receive the cause from the group; "it left" would be a second one.
  if (first_error_.broken() || core_->group.failure()) return;
  // It has failed the group, which the end of the group reports.
  if (memory_ && !memory_->CheckLast()) return;
  connections_.SendLeave();
  point_to_point_.SendLeave();
}

Duration SocketCommunicator::TimeoutOf(Operation operation, const CallOptions& options) const {
  if (options.timeout) return *options.timeout;
  const TimeoutOptions& timeouts = core_->options.timeouts;
  return operation == Operation::kBarrier ? timeouts.barrier : timeouts.collective;
}

Status SocketCommunicator::Usable() {
  if (core_->InForkedChild()) {
    return WithHint(
        Fail(Code::kUsage, "in a forked child: its communicator belongs to the parent, pid {}", core_->owner),
        "exec a program of its own, or leave communication to the parent");
  }
  return CheckUsable(first_error_, core_->group);
}

tl::unexpected<Error> SocketCommunicator::Break(const Error& error) {
  std::optional<Error> failure = core_->group.failure();
  // A call that was ended by Close is no failure.
  if (!failure && closed_) return Fail(error);
  // Not every error has passed the engine, and no error may leave the other ranks waiting.
  if (!failure) failure = FailGroup(core_->group, error);
  return Fail(first_error_.Set(*failure));
}

Status SocketCommunicator::Enter(const Call& call, Duration timeout) {
  const std::optional<Mismatch> mismatch = history_->Begin(call);
  if (mismatch) {
    return Fail(
        Disagreement(core_->group.roster(), core_->group.rank(), call, mismatch->rank, mismatch->theirs));
  }
  engine_.Begin(call, timeout);
  return {};
}

Status SocketCommunicator::RunNext(Call call, const CallOptions& options,
                                   const std::function<Status(const Collective&)>& body) {
  MUSTER_CHECK(CheckTimeout(call.operation, options));
  MUSTER_TRY(const std::unique_lock alone, EnterAlone(call.operation, collective_));
  if (closed_) return Closed(Name(call.operation));
  MUSTER_CHECK(Usable());
  call.communicator = members_.communicator;
  call.sequence = ++sequence_;
  return Breaking(call, [&] { return Execute(call, TimeoutOf(call.operation, options), body); });
}

Status SocketCommunicator::Execute(const Call& call, Duration timeout,
                                   const std::function<Status(const Collective&)>& body) {
  struct End {
    SocketCommunicator& self;
    ~End() {
      if (self.memory_) self.memory_->Flush();
      self.engine_.End();
      self.history_->End();
    }
  } end{*this};
  MUSTER_CHECK(Enter(call, timeout));
  if (!memory_settled_) MUSTER_CHECK(ShareMemoryFor(call));
  return body({engine_, topology_, chooser_, memory_.get(), core_->mac ? &*core_->mac : nullptr});
}

template <typename Body>
Status SocketCommunicator::Breaking(const Call& call, const Body& body) {
  try {
    Status status = body();
    if (!status) return Break(status.error());
    return status;
  } catch (const std::bad_alloc&) {
    return BreakWithoutMemory(call);
  }
}

Status SocketCommunicator::BreakWithoutMemory(const Call& call) {
  try {
    return Break(NoMemory(core_->group.roster(), core_->group.rank(), call));
  } catch (const std::bad_alloc&) {
    // Short enough to need no memory of its own. The other ranks learn of it when this process ends.
    return Fail(first_error_.Set({Code::kSystem, "out of memory"}));
  }
}

bool SocketCommunicator::WantsMemory(const Call& call) const {
  const SocketOptions& options = core_->options;
  const size_t bytes = DecidingBytes(call, size());
  const bool worth_it = call.sequence > options.calls_before_sharing || bytes >= kMuch;
  return worth_it && chooser_.WantsMemory(call.operation, bytes);
}

Status SocketCommunicator::ShareMemoryFor(const Call& call) {
  if (!WantsMemory(call)) return {};
  MUSTER_TRY(SharedMemoryAgreement agreement,
             AgreeOnSharedMemory(engine_, topology_, core_->options.shared_slot_bytes));
  memory_settled_ = true;
  memory_ = std::move(agreement.memory);
  chooser_.SetSharesMemory(agreement.shared);
  return {};
}

Status SocketCommunicator::RunPointToPoint(const OperationRequest& request, const CallOptions& options) {
  const CountedCall counted(point_to_point_.calls());
  MUSTER_CHECK(CheckTimeout(request.operation, options));
  MUSTER_CHECK(Usable());
  const Duration timeout = TimeoutOf(request.operation, options);
  const bool sends = request.operation == Operation::kSend;
  const Call unnumbered = CallOf(request.operation, sends ? request.send : ConstBuffer(request.receive));
  bool alone = false;
  Status status;
  MUSTER_CHECK(Breaking(unnumbered, [&] {
    status = sends ? point_to_point_.Send(request.send, request.root, timeout, alone)
                   : point_to_point_.Recv(request.receive, request.root, timeout, alone);
    return alone ? Status() : status;
  }));
  return status;
}

// A rank that waits may miss one wake-up, because another one serves it.
bool SocketCommunicator::Close(Deadline deadline) {
  constexpr auto kAgain = std::chrono::milliseconds(1);
  closed_ = true;
  for (;;) {
    const std::unique_lock alone(collective_, std::try_to_lock);
    if (point_to_point_.Settle() && alone) return true;
    if (deadline.Expired()) return false;
    core_->mesh->Wake();
    std::this_thread::sleep_for(kAgain);
  }
}

Result<std::unique_ptr<Communicator>> SocketCommunicator::Split(int color, int key,
                                                                const CallOptions& options) {
  std::optional<Members> members;
  const auto form = [&](const Collective& collective) -> Status {
    const Bytes mine = EncodeFields(color, key);
    Bytes all(mine.size() * static_cast<size_t>(size()));
    MUSTER_CHECK(RunAllGather(collective, mine, all));
    FieldReader reader(all);
    std::vector<SplitChoice> choices(static_cast<size_t>(size()));
    for (SplitChoice& choice : choices) reader(choice.color, choice.key);
    members = FormSubgroup(members_, choices, collective.engine.call().sequence);
    return {};
  };
  MUSTER_CHECK(RunCollective(CallOf(Operation::kSplit), options, form));
  if (!members) return nullptr;
  try {
    return Create(core_, *std::move(members));
  } catch (const std::bad_alloc&) {
    return Fail(BreakWithoutMemory(CallOf(Operation::kSplit)).error());
  }
}

}  // namespace muster::socket
