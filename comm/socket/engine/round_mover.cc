#include "comm/socket/engine/round_mover.h"

namespace muster::socket {

Status RoundMover::AdvanceAll(bool& moved) {
  for (PeerStream& stream : round_.streams()) MUSTER_CHECK(Advance(stream, moved));
  return moved ? AdvanceHeld(moved) : Status();
}

Status RoundMover::AdvanceReady(const std::vector<PeerStream*>& ready) {
  bool moved = false;
  for (PeerStream* stream : ready) MUSTER_CHECK(Advance(*stream, moved));
  return moved ? AdvanceHeld(moved) : Status();
}

Status RoundMover::AdvanceUnconnected() {
  bool moved = false;
  for (PeerStream& stream : round_.streams()) {
    if (stream.connection() == nullptr) MUSTER_CHECK(Advance(stream, moved));
  }
  return {};
}

// Another stream may wait to pass on data that this stream has received.
Status RoundMover::AdvanceHeld(bool& moved) {
  for (PeerStream& stream : round_.streams()) {
    if (stream.held() && stream.MaySend()) MUSTER_CHECK(Advance(stream, moved));
  }
  return {};
}

Status RoundMover::Advance(PeerStream& stream, bool& moved) {
  if (stream.done() || call_.failures().IsLost(stream.rank())) return {};
  if (stream.connection() == nullptr) Connect(stream);
  if (stream.connection() == nullptr) return {};
  const StreamEvent event = stream.Advance(call_.call(), round_.scratch());
  if (event == StreamEvent::kNothing) return {};
  if (event != StreamEvent::kMoved) return call_.failures().OnEvent(stream, event);
  moved = true;
  call_.stall_monitor().Progress();
  return {};
}

void RoundMover::Connect(PeerStream& stream) {
  const ConnectionSet::Found found = connections_.Get(stream.rank());
  stream.set_connection(found.connection);
  if (found.failure) call_.failures().OnNotConnected(stream.rank(), *found.failure);
}

}  // namespace muster::socket
