// The call at work, its deadline, the failures of its peers, and the actions if it takes long.
//
// Threads: one.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/ops/call.h"
#include "comm/socket/engine/call_clock.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/peer_failures.h"
#include "comm/socket/engine/stall_monitor.h"
#include "comm/socket/engine/wait_rules.h"
#include "comm/socket/transport/call_history.h"

namespace muster::socket {

struct ProgressEngineOptions {
  Duration patience = std::chrono::milliseconds(500);
  Duration cause_grace = std::chrono::seconds(2);
  bool spin = false;
  Deadline latest = Deadline::Never();         // no wait beyond this, unless it has passed
  const PeerHasLeft* peer_has_left = nullptr;  // null: no other thread receives on the set's connections
  const std::atomic<bool>* closed = nullptr;   // set: calls that wait end with kUsage; may be null
};

class CurrentCall {
 public:
  // `connections` and `history` (may be null) outlive it.
  CurrentCall(ConnectionSet& connections, CallHistory* history, const ProgressEngineOptions& options);
  CurrentCall(const CurrentCall&) = delete;
  CurrentCall& operator=(const CurrentCall&) = delete;

  void Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline);
  void End();
  const Call& call() const { return call_; }
  ConnectionSet& connections() { return connections_; }
  PeerFailures& failures() { return failures_; }
  StallMonitor& stall_monitor() { return stall_monitor_; }

  // At each wait: the first one of the call starts the clock.
  void StartClock() {
    if (!clock_.started()) StartClockNow();
  }
  Deadline deadline() const { return clock_.deadline(); }
  // Of a rank that spins and has read the clock for that anyway: it has served nothing else for kServeEvery in
  // this call.
  bool ServingIsDue(Clock::time_point now) {
    if (serve_at_ == Clock::time_point()) serve_at_ = now + kServeEvery;
    return now >= serve_at_;
  }
  void Served() { serve_at_ = {}; }
  // The next point at which the verdict may change or the stall monitor has something to do.
  Deadline wake() const;
  void Postpone(Duration stall);

  // Below, `peers` are the ranks of the communicator that the call waits for.
  // Those among them that have left without a message are lost. A connected one's messages come first, and its leave
  // message or the end of the connection after them.
  void NoticeGone(const std::vector<int>& peers);
  WaitVerdict verdict() const;
  // Whether the owner of the communicator ends it.
  bool closed() const { return closed_ != nullptr && closed_->load(); }
  // By a verdict other than kGoOn. BLOCKS like PeerFailures.
  tl::unexpected<Error> Fail(WaitVerdict verdict, const std::vector<int>& peers);
  // Their numbers in the group, ascending.
  std::vector<int> WorldRanks(std::vector<int> peers) const;

 private:
  void StartClockNow();
  Error DeadlineError(const std::vector<int>& peers) const;

  ConnectionSet& connections_;
  Group& group_;
  const Deadline latest_;
  const std::atomic<bool>* const closed_;

  Call call_;
  CallClock clock_;
  Clock::time_point serve_at_;  // the epoch: from the next time on
  PeerFailures failures_;
  StallMonitor stall_monitor_;
};

}  // namespace muster::socket
