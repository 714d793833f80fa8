// A blocked rank: it sleeps until an awaited event happens, and serves everything else in the meantime. The
// only place where the socket backend sleeps.
//
// Threads: one; the waker is written by any.
#pragma once

#include <poll.h>

#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/engine/awaited.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/current_call.h"
#include "comm/socket/engine/round.h"
#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {

class BlockedWait {
 public:
  BlockedWait(Round& round, ConnectionSet& connections, CurrentCall& call)
      : round_(round), connections_(connections), call_(call) {}
  BlockedWait(const BlockedWait&) = delete;
  BlockedWait& operator=(const BlockedWait&) = delete;
  ~BlockedWait() { End(); }

  // Until something has happened, to the messages of the round or to `awaited` (may be null). BLOCKS, at most until the
  // deadline of the call. An error is final.
  Status Sleep(Awaited* awaited);
  // Serves everything else, for a rank that spins. An error is final.
  Status Glance(Awaited* awaited);
  // After the call.
  void End();

 private:
  Status NoticeGone();
  Status UseWaker();
  int waker() const { return has_waker_ ? waker_.get() : -1; }
  void Prepare();
  int Poll(Deadline wake) { return poll(polled_.data(), polled_.size(), wake.PollMilliseconds()); }
  Status Serve();
  Status ServePeers();
  Status NoticeEnd(int peer);
  Status CheckTime();
  bool Settled() const;
  std::vector<int> UnfinishedPeers() const;

  Round& round_;
  ConnectionSet& connections_;
  CurrentCall& call_;
  Awaited* awaited_ = nullptr;  // during Sleep and Glance

  UniqueFd waker_;
  bool has_waker_ = false;
  // The descriptors of one poll(2): the fixed ones, those of streams_, then those of ending_.
  enum Fixed : size_t { kFailure, kMesh, kWaker, kDoorbell, kCount };
  std::vector<pollfd> polled_;
  std::vector<PeerStream*> streams_;
  std::vector<PeerStream*> ready_;
  // Only the end of such a peer's connection counts: it may have sent data for a later call.
  std::vector<int> ending_;
};

}  // namespace muster::socket
