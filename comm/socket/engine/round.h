// The messages of one round of an operation: an algorithm queues them, the engine moves them as far as they go, over all
// connections in both directions.
//
// Threads: one. Only errors block, like PeerFailures. Ownership: buffers stay the caller's until Clear.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "comm/base/error.h"
#include "comm/socket/engine/current_call.h"
#include "comm/socket/engine/peer_stream.h"

namespace muster::socket {

class Round {
 public:
  void Queue(int peer, const OutgoingMessage& message) { StreamTo(peer).Queue(message); }
  void Queue(int peer, const IncomingMessage& message) { StreamTo(peer).Queue(message); }
  // The result is valid until Clear: the number of bytes of `message` in place.
  const ArrivedBytes* QueueObserved(int peer, IncomingMessage message);

  // Of the peers with messages in this round.
  std::span<PeerStream> streams() { return {streams_.data(), active_}; }
  std::span<const PeerStream> streams() const { return {streams_.data(), active_}; }
  // For arithmetic on arriving data; empty if this round has none.
  std::span<uint8_t> scratch() { return {scratch_.get(), scratch_ ? kScratchBytes : 0}; }

  bool done() const;
  // Peers with a message that has not moved.
  std::vector<int> UnfinishedPeers() const;
  // A message waits for a connection.
  bool LacksConnection() const;

  Status AdvanceAll(CurrentCall& call, bool& moved);
  Status AdvanceReady(CurrentCall& call, const std::vector<PeerStream*>& ready);
  // Those that have waited for a connection.
  Status AdvanceUnconnected(CurrentCall& call);

  void Clear();

 private:
  static constexpr size_t kScratchBytes = size_t{64} * 1024;

  PeerStream& StreamTo(int peer);
  Status AdvanceHeld(CurrentCall& call, bool& moved);
  Status Advance(CurrentCall& call, PeerStream& stream, bool& moved);

  std::vector<PeerStream> streams_;  // the first active_ are in use; kept for their memory
  size_t active_ = 0;
  std::unique_ptr<uint8_t[]> scratch_;
  std::deque<ArrivedBytes> arrivals_;  // elements do not move while it grows
};

}  // namespace muster::socket
