// Moves the messages of a round as far as they go: all connections, in both directions.
//
// Threads: one. Only errors block, like PeerFailures.
#pragma once

#include <vector>

#include "comm/base/error.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/current_call.h"
#include "comm/socket/engine/round.h"

namespace muster::socket {

class RoundMover {
 public:
  RoundMover(Round& round, ConnectionSet& connections, CurrentCall& call)
      : round_(round), connections_(connections), call_(call) {}

  Status AdvanceAll(bool& moved);
  Status AdvanceReady(const std::vector<PeerStream*>& ready);
  // Those that have waited for a connection.
  Status AdvanceUnconnected();

 private:
  Status AdvanceHeld(bool& moved);
  Status Advance(PeerStream& stream, bool& moved);
  void Connect(PeerStream& stream);

  Round& round_;
  ConnectionSet& connections_;
  CurrentCall& call_;
};

}  // namespace muster::socket
