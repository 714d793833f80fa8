#include "comm/socket/point_to_point.h"

#include <new>

#include "comm/base/parse.h"
#include "comm/ops/entry.h"
#include "comm/socket/engine/progress_engine.h"

namespace muster::socket {
namespace {

Call CallFor(uint64_t communicator, Operation operation, const ConstBuffer& buffer) {
  Call call;
  call.communicator = communicator;
  call.operation = operation;
  call.type = buffer.type;
  call.count = buffer.count;
  return call;
}

}  // namespace

PointToPoint::PointToPoint(const SocketCore& core, const Members& members, const std::atomic<bool>& closed)
    : core_(core),
      closed_(closed),
      communicator_(members.communicator),
      connections_(core.mesh, members.communicator, Purpose::kPointToPoint, members.world_ranks) {}

PointToPoint::Peer& PointToPoint::PeerAt(int rank) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Peer>& peer = peers_[rank];
  if (!peer) peer = std::make_unique<Peer>();
  return *peer;
}

std::optional<uint64_t> PointToPoint::Direction::Enter(Deadline deadline, const std::atomic<bool>& closed) {
  std::unique_lock lock(mutex_);
  if (!left_.wait_until(lock, deadline.when(), [&] { return !busy_ || closed; }) || closed)
    return std::nullopt;
  busy_ = true;
  return ++sequence_;
}

void PointToPoint::Direction::Leave() {
  const std::lock_guard lock(mutex_);
  busy_ = false;
  left_.notify_one();
}

void PointToPoint::Direction::WakeAll() {
  const std::lock_guard lock(mutex_);
  left_.notify_all();
}

bool PointToPoint::Settle() {
  if (calls_ == 0) return true;
  const std::lock_guard lock(mutex_);
  for (const auto& [rank, peer] : peers_) {
    peer->send.WakeAll();
    peer->receive.WakeAll();
  }
  return false;
}

Status PointToPoint::InTurn(Direction& direction, int peer, Duration timeout, Call call,
                            const std::function<Status(const Call&, Deadline)>& body) {
  const Deadline deadline = Deadline::After(timeout);
  const std::optional<uint64_t> sequence = direction.Enter(deadline, closed_);
  if (closed_) {
    if (sequence) direction.Leave();
    return Closed(Name(call.operation));
  }
  if (!sequence) {
    return Fail(Code::kDeadline, "{} did not begin within {}: another one with {} is in progress",
                Name(call.operation), FormatDuration(timeout),
                DescribeRank(core_.group.roster(), connections_.WorldRank(peer)));
  }
  call.sequence = *sequence;
  struct Turn {
    Direction& direction;
    ~Turn() { direction.Leave(); }
  } turn{direction};
  try {
    return body(call, deadline);
  } catch (const std::bad_alloc&) {
    return Fail(NoMemory(core_.group.roster(), core_.group.rank(), call));
  }
}

Status PointToPoint::Send(ConstBuffer buffer, int to, Duration timeout, bool& alone) {
  const Call unnumbered = CallFor(communicator_, Operation::kSend, buffer);
  Peer& peer = PeerAt(to);
  return InTurn(peer.send, to, timeout, unnumbered, [&](const Call& call, Deadline deadline) {
    const PeerHasLeft peer_has_left = [&peer](const Connection& connection) {
      return peer.receive.IfIdle([&] { return connection.HoldsLeave(); });
    };
    ProgressEngineOptions options = core_.engine_options(&closed_);
    options.peer_has_left = &peer_has_left;
    ProgressEngine engine(connections_, nullptr, options);
    engine.Begin(call, timeout, deadline);
    engine.Send(to, {static_cast<const uint8_t*>(buffer.data), buffer.bytes()});
    Status status = engine.Run();
    alone = engine.failures().of_this_call_alone();
    return status;
  });
}

Status PointToPoint::Recv(Buffer buffer, int from, Duration timeout, bool& alone) {
  const Call unnumbered = CallFor(communicator_, Operation::kRecv, buffer);
  return InTurn(PeerAt(from).receive, from, timeout, unnumbered, [&](const Call& call, Deadline deadline) {
    ProgressEngine engine(connections_, nullptr, core_.engine_options(&closed_));
    engine.Begin(call, timeout, deadline);
    engine.Receive(from, {static_cast<uint8_t*>(buffer.data), buffer.bytes()});
    Status status = engine.Run();
    alone = engine.failures().of_this_call_alone();
    return status;
  });
}

}  // namespace muster::socket
