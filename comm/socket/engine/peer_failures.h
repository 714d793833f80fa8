// A fault of a peer, or of its data, as an error that names both ranks. Every function that returns an error
// has failed the group with it, and returns the group's failure (group_failure.h: BLOCKS for at most a
// second).
//
// A broken connection is not an error immediately: the control plane may have the cause. The group is failed
// `cause_grace` later, or at the call's deadline. So it is if a peer has left: if this process leaves as well, its
// communicator is closed until then, which ends the call.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/ops/call.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/peer_stream.h"
#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {

// Of a broken connection: whether its peer has left. False also if that cannot be decided now.
using PeerHasLeft = std::function<bool(const Connection&)>;

class PeerFailures {
 public:
  // `call`: the call at work. `peer_has_left`: as ProgressEngineOptions. All outlive this.
  PeerFailures(ConnectionSet& connections, const Call& call, Duration cause_grace,
               const PeerHasLeft* peer_has_left)
      : connections_(connections),
        call_(call),
        group_(connections.mesh().group()),
        cause_grace_(cause_grace),
        peer_has_left_(peer_has_left) {}

  // Peers are ranks of the communicator.
  Status OnEvent(PeerStream& stream, StreamEvent event);
  // The connection to `peer` was closed while the call waits for it in shared memory.
  Status OnClosed(int peer, Connection& connection);
  void OnNotConnected(int peer, const LinkFailure& failure);
  // It is reported like a lost connection.
  void OnLeft(int peer);
  // True if the error is that the peer of a Send or Recv has ended, which concerns no other rank: the group has not failed.
  bool of_this_call_alone() const { return of_this_call_alone_; }
  Status Tampered(int peer, std::string_view how);
  Status Disagree(int peer, const Call& theirs) { return Disagree(call_, peer, theirs); }
  // In an earlier call than the one at work.
  Status Disagree(const Call& mine, int peer, const Call& theirs);
  Status DisagreedBefore(int peer);
  // This rank has no memory for data of a peer.
  Status NoMemory(int peer, uint64_t bytes);
  tl::unexpected<Error> Fail(const Error& error);
  // A fault of this rank's own process or node, which the message does not name.
  tl::unexpected<Error> FailHere(Error error);

  // Lost peers, until Clear; the first one is reported.
  bool IsLost(int peer) const { return std::ranges::find(lost_, peer) != lost_.end(); }
  bool any_lost() const { return loss_.has_value(); }
  Deadline report_at() const { return loss_ ? loss_->report_at : Deadline::Never(); }
  tl::unexpected<Error> FailLost();
  void Postpone(Duration stall) {
    if (loss_) loss_->report_at = Postponed(loss_->report_at, stall);
  }
  void Clear() {
    loss_.reset();
    lost_.clear();
    of_this_call_alone_ = false;
  }

 private:
  struct Loss {
    Error error;
    Deadline report_at = Deadline::Never();
    bool ended = false;  // it has left, or of a Recv no process listens in its place
    int peer = -1;
  };

  void Lose(int peer, Error error, bool ended = false);
  Status OnLeave(int peer);
  tl::unexpected<Error> FailEnded(Error error);
  bool LeftProperly(Connection& connection) const;
  Error LeftError(int peer) const;
  Error LinkError(int peer, int error) const;
  std::string Own() const;
  std::string Subject(int peer) const;

  ConnectionSet& connections_;
  const Call& call_;
  Group& group_;
  const Duration cause_grace_;
  const PeerHasLeft* const peer_has_left_;
  std::optional<Loss> loss_;
  std::vector<int> lost_;
  bool of_this_call_alone_ = false;
};

}  // namespace muster::socket
