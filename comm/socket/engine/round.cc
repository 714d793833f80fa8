#include "comm/socket/engine/round.h"

#include <algorithm>

namespace muster::socket {

PeerStream& Round::StreamTo(int peer) {
  for (size_t i = active_; i > 0; --i) {
    if (streams_[i - 1].rank() == peer) return streams_[i - 1];
  }
  if (active_ == streams_.size()) streams_.emplace_back();
  PeerStream& stream = streams_[active_++];
  stream.Reset(peer, nullptr);
  return stream;
}

const ArrivedBytes* Round::QueueObserved(int peer, IncomingMessage message) {
  if (message.combine && !scratch_) scratch_ = std::make_unique_for_overwrite<uint8_t[]>(kScratchBytes);
  message.arrival = &arrivals_.emplace_back(0);
  Queue(peer, message);
  return message.arrival;
}

bool Round::done() const {
  return std::ranges::all_of(streams(), [](const PeerStream& stream) { return stream.done(); });
}

std::vector<int> Round::UnfinishedPeers() const {
  std::vector<int> peers;
  for (const PeerStream& stream : streams()) {
    if (!stream.done()) peers.push_back(stream.rank());
  }
  return peers;
}

bool Round::LacksConnection() const {
  return std::ranges::any_of(
      streams(), [](const PeerStream& stream) { return !stream.done() && stream.connection() == nullptr; });
}

Status Round::AdvanceAll(CurrentCall& call, bool& moved) {
  for (PeerStream& stream : streams()) MUSTER_CHECK(Advance(call, stream, moved));
  return moved ? AdvanceHeld(call, moved) : Status();
}

Status Round::AdvanceReady(CurrentCall& call, const std::vector<PeerStream*>& ready) {
  bool moved = false;
  for (PeerStream* stream : ready) MUSTER_CHECK(Advance(call, *stream, moved));
  return moved ? AdvanceHeld(call, moved) : Status();
}

Status Round::AdvanceUnconnected(CurrentCall& call) {
  bool moved = false;
  for (PeerStream& stream : streams()) {
    if (stream.connection() == nullptr) MUSTER_CHECK(Advance(call, stream, moved));
  }
  return {};
}

// Another stream may wait to pass on data that this stream has received.
Status Round::AdvanceHeld(CurrentCall& call, bool& moved) {
  for (PeerStream& stream : streams()) {
    if (stream.held() && stream.MaySend()) MUSTER_CHECK(Advance(call, stream, moved));
  }
  return {};
}

Status Round::Advance(CurrentCall& call, PeerStream& stream, bool& moved) {
  if (stream.done() || call.failures().IsLost(stream.rank())) return {};
  if (stream.connection() == nullptr) {
    const ConnectionSet::Found found = call.connections().Get(stream.rank());
    stream.set_connection(found.connection);
    if (found.failure) call.failures().OnNotConnected(stream.rank(), *found.failure);
  }
  if (stream.connection() == nullptr) return {};
  const StreamEvent event = stream.Advance(call.call(), scratch());
  if (event == StreamEvent::kNothing) return {};
  if (event != StreamEvent::kMoved) return call.failures().OnEvent(stream, event);
  moved = true;
  call.stall_monitor().Progress();
  return {};
}

void Round::Clear() {
  active_ = 0;
  arrivals_.clear();
}

}  // namespace muster::socket
