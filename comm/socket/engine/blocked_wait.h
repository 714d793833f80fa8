// A blocked rank: it sleeps until an awaited event happens, and serves everything else in the meantime. The
// only place where the socket backend sleeps.
//
// Threads: one.
#pragma once

#include <vector>

#include "comm/base/error.h"
#include "comm/socket/engine/awaited.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/current_call.h"
#include "comm/socket/engine/round.h"
#include "comm/socket/engine/round_mover.h"
#include "comm/socket/engine/wait_rules.h"
#include "comm/socket/engine/wait_set.h"

namespace muster::socket {

class BlockedWait {
 public:
  BlockedWait(Round& round, RoundMover& mover, ConnectionSet& connections, CurrentCall& call)
      : round_(round), mover_(mover), connections_(connections), call_(call), wait_set_(connections.mesh()) {}

  // Until something has happened, to the messages of the round or to `awaited` (may be null). BLOCKS, at most until the
  // deadline of the call. An error is final.
  Status Sleep(Awaited* awaited);
  // Serves everything else, for a rank that spins. An error is final.
  Status Glance(Awaited* awaited);
  // After the call.
  void End() { wait_set_.RemoveWaker(); }

 private:
  Status NoticeGone();
  Status UseWaker();
  void Prepare();
  Status Serve();
  Status NoticeEnd(int peer);
  Status CheckTime();
  bool Settled() const;
  std::vector<int> UnfinishedPeers() const;

  Round& round_;
  RoundMover& mover_;
  ConnectionSet& connections_;
  CurrentCall& call_;
  WaitSet wait_set_;
  Awaited* awaited_ = nullptr;  // during Sleep and Glance
};

}  // namespace muster::socket
