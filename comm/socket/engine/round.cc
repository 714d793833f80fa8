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

void Round::Clear() {
  active_ = 0;
  arrivals_.clear();
}

}  // namespace muster::socket
