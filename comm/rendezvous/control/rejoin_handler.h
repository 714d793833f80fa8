// Who comes to a group that has formed. For `muster run -- a && muster run -- b`: a rank that has finished a
// early comes back for b while others are still at a. It is told "later" and waits on its connection, without
// a deadline, until this group's process ends. Whoever claims a rank that is still at work is told so, and a
// process of an earlier life of the job that it is one.
//
// A leader listens on its node's socket all the time, the root on its ladder from the first leave message on. Lives
// on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/root_listener.h"
#include "comm/rendezvous/link/node_listener.h"
#include "comm/rendezvous/messages/child_links.h"

namespace muster::rendezvous {

class RejoinHandler {
 public:
  // Why a claim for this rank cannot be put off: it is still at work. Absent: it has left, or will soon.
  using StillHere = std::function<std::optional<Error>(int rank)>;

  RejoinHandler(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request, bool is_root,
                StillHere still_here);
  RejoinHandler(const RejoinHandler&) = delete;
  RejoinHandler& operator=(const RejoinHandler&) = delete;

  // `listener`: open already, else null. If it cannot be opened, that is logged, and processes that come wait
  // until their own deadline.
  void OpenLocally(std::unique_ptr<NodeListener> listener);
  // A process that had connected when the group formed, and had not said who it is.
  void Take(ChildLinks::Child visitor);
  // If this is the root, and new processes find it without a LauncherKvs. Harmless when it is open.
  void OpenLadder();

 private:
  std::optional<Failure> Refuse(const Hello& hello) const;
  void OnFrame(ChildLinks::Source source, ByteView frame);

  net::EventLoop& loop_;
  std::shared_ptr<const JoinRequest> request_;
  bool is_root_;
  StillHere still_here_;
  ChildLinks visitors_;
  net::ThreadWorker munge_worker_;
  std::unique_ptr<auth::Prover> prover_;
  std::unique_ptr<NodeListener> node_listener_;
  std::unique_ptr<RootListener> listener_;
};

}  // namespace muster::rendezvous
