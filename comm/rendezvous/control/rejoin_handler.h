// Processes that connect to a group that has formed. For `muster run -- a && muster run -- b`: a rank that
// has finished a early comes back for b while other ranks are still in a. It receives "later" and waits on
// its connection, without a deadline, until this group's process ends. A process that claims a rank still at
// work is refused with that reason. So is a process of an earlier incarnation of the job. A leader that has lost the
// process above hands over the exit reports of its subtree here (report_handover.h).
//
// A process of this group may come as well: the process above it ended after the group had formed, and before it had passed the
// roster on. It reports that as while a group forms, and receives the group's failure; it never waits for the end of the group.
//
// A leader listens on its node's socket all the time, the root on its ladder from the first leave message on, a leader
// above others and the root from the loss of one of those.
// Runs on one EventLoop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/root_listener.h"
#include "comm/rendezvous/link/node_listener.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/exit_report.h"

namespace muster::rendezvous {

class RejoinHandler {
 public:
  // Answers of the group that has formed.
  struct Group {
    // The reason why a claim for this rank cannot wait: it is still at work. Absent: it has left, or will soon.
    std::function<std::optional<Error>(int rank)> still_here;
    // False: it is one of another group.
    std::function<bool(const OrphanReport&)> take_report;
    // The answer to processes of this group that never had the roster, because `lost` has ended. Absent: none of them is one.
    std::function<std::optional<Failure>(const Hello& hello, const ProcessInfo& lost)> lose_unformed;
  };

  RejoinHandler(net::EventLoop& loop, std::shared_ptr<const JoinRequest> request, bool is_root, Group group);
  RejoinHandler(const RejoinHandler&) = delete;
  RejoinHandler& operator=(const RejoinHandler&) = delete;

  // `listener`: open already, else null. If it cannot be opened, that is logged, and processes that come wait
  // until their own deadline.
  void OpenLocally(std::unique_ptr<NodeListener> listener);
  // A process that had connected when the group formed, without a hello.
  void Take(ChildLinks::Child visitor);
  // If this is the root, and new processes find it without a LauncherKvs. Harmless when it is open.
  void OpenLadder();
  // For leaders whose process above is lost.
  void OpenToOrphans();

 private:
  void OnReport(ChildLinks::Source source, ByteView frame);
  std::optional<Failure> Refuse(ChildLinks::Source source, const Hello& hello);
  std::optional<Failure> LoseUnformed(ChildLinks::Source source, const Hello& hello);
  void OnFrame(ChildLinks::Source source, ByteView frame);

  net::EventLoop& loop_;
  std::shared_ptr<const JoinRequest> request_;
  bool is_root_;
  const Group group_;
  ChildLinks visitors_;
  std::map<ChildLinks::Source, ProcessInfo> lost_above_;  // as these visitors report
  net::ThreadWorker munge_worker_;
  std::unique_ptr<auth::Prover> prover_;
  std::unique_ptr<NodeListener> node_listener_;
  std::unique_ptr<RootListener> listener_;
};

}  // namespace muster::rendezvous
