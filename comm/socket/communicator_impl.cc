#include "comm/socket/communicator_impl.h"

#include <utility>

#include "comm/net/wire.h"
#include "comm/socket/arguments.h"
#include "comm/socket/group_failure.h"
#include "comm/socket/split.h"

namespace muster {

SocketCommunicator::SocketCommunicator(std::shared_ptr<const SocketCore> core, Members members)
    : core_(std::move(core)),
      members_(std::move(members)),
      topology_(*members_.roster, members_.rank),
      ledger_(std::make_shared<Ledger>()),
      lane_(core_->mesh, members_.communicator, Purpose::kCollective, members_.world_ranks),
      exchange_(lane_, ledger_.get(), core_->exchange_options()),
      point_to_point_(*core_, members_) {
  core_->mesh->AddLedger(members_.communicator, ledger_);
}

SocketCommunicator::~SocketCommunicator() {
  core_->mesh->RemoveLedger(members_.communicator);
  // After an error the others learn the cause from the group; "it left" would be a second one.
  if (first_error_.broken() || core_->group.failure()) return;
  lane_.SayGoodbye();
  point_to_point_.SayGoodbye();
}

Call SocketCommunicator::CallOf(Operation operation, const ConstBuffer& elements, int root, ReduceOp reduce) {
  Call call;
  call.operation = operation;
  call.type = elements.type;
  call.count = elements.count;
  call.root = root;
  call.reduce = reduce;
  return call;
}

Duration SocketCommunicator::TimeoutOf(Operation operation, const CallOptions& options) const {
  if (options.timeout) return *options.timeout;
  const TimeoutOptions& timeouts = core_->options.timeouts;
  return operation == Operation::kBarrier ? timeouts.barrier : timeouts.collective;
}

Status SocketCommunicator::Usable() {
  MUSTER_CHECK(first_error_.status());
  if (const std::optional<Error> failure = core_->group.failure()) return Fail(first_error_.Set(*failure));
  return {};
}

tl::unexpected<Error> SocketCommunicator::Break(const Error& error) {
  std::optional<Error> failure = core_->group.failure();
  // Not every error has come through the engine, and none may leave the other ranks waiting.
  if (!failure) failure = FailGroup(core_->group, error);
  return Fail(first_error_.Set(*failure));
}

Status SocketCommunicator::Enter(const Call& call, Duration timeout) {
  const std::optional<Mismatch> mismatch = ledger_->Begin(call);
  if (mismatch) {
    return Fail(
        Disagreement(core_->group.roster(), core_->group.rank(), call, mismatch->rank, mismatch->theirs));
  }
  exchange_.Begin(call, timeout);
  return {};
}

Status SocketCommunicator::RunCollective(Call call, const CallOptions& options,
                                         const std::function<Status(const Collective&)>& body) {
  MUSTER_CHECK(CheckTimeout(call.operation, options));
  const std::unique_lock turn(collective_, std::try_to_lock);
  if (!turn) {
    return Fail(Code::kUsage, "{}: another collective is running on this communicator", Name(call.operation));
  }
  MUSTER_CHECK(Usable());
  call.communicator = members_.communicator;
  call.sequence = ++sequence_;
  Status status = Enter(call, TimeoutOf(call.operation, options));
  if (status) status = body({exchange_, topology_});
  exchange_.End();
  ledger_->End();
  if (!status) return Break(status.error());
  return {};
}

Status SocketCommunicator::RunPointToPoint(const CallOptions& options,
                                           const std::function<Status(Duration)>& body) {
  MUSTER_CHECK(CheckTimeout(Operation::kSend, options));
  MUSTER_CHECK(Usable());
  const Status status = body(TimeoutOf(Operation::kSend, options));
  if (!status) return Break(status.error());
  return {};
}

Status SocketCommunicator::Send(ConstBuffer buffer, int to, const CallOptions& options) {
  MUSTER_CHECK(CheckPeer(Operation::kSend, to, rank(), size()));
  MUSTER_CHECK(CheckBuffer(Operation::kSend, "buffer", buffer));
  return RunPointToPoint(options,
                         [&](Duration timeout) { return point_to_point_.Send(buffer, to, timeout); });
}

Status SocketCommunicator::Recv(Buffer buffer, int from, const CallOptions& options) {
  MUSTER_CHECK(CheckPeer(Operation::kRecv, from, rank(), size()));
  MUSTER_CHECK(CheckBuffer(Operation::kRecv, "buffer", buffer));
  return RunPointToPoint(options,
                         [&](Duration timeout) { return point_to_point_.Recv(buffer, from, timeout); });
}

Result<std::unique_ptr<Communicator>> SocketCommunicator::Split(int color, int key,
                                                                const CallOptions& options) {
  WireWriter mine;
  mine.I32(color);
  mine.I32(key);
  Bytes all(mine.bytes().size() * static_cast<size_t>(size()));
  uint64_t sequence = 0;
  MUSTER_CHECK(RunCollective(CallOf(Operation::kSplit), options, [&](const Collective& collective) {
    sequence = collective.exchange.call().sequence;
    return RunAllGather(collective, mine.bytes(), all);
  }));
  WireReader reader(all);
  std::vector<SplitChoice> choices;
  for (int r = 0; r < size(); ++r) {
    SplitChoice& choice = choices.emplace_back();
    choice.color = reader.I32();
    choice.key = reader.I32();
  }
  std::optional<Members> members = FormSubgroup(members_, choices, sequence);
  if (!members) return nullptr;
  return std::make_unique<SocketCommunicator>(core_, *std::move(members));
}

}  // namespace muster
