// The tree of a formed group: program -> supervisor -> leader -> root. Parts of keyed all-gathers, failures
// and leave messages go up. Whole all-gathers, the group's first failure and releases come down. A process
// that ends without a leave message, or a node that falls silent, is a failure of the group: every rank
// receives it, with the name.
//
//   up    KeyedAllGather, Failure, FailureKnown, Leave, Ended, Late, Survey, Surveyed, Heartbeat, OwnerAsked, OwnerAnswered,
//         ToRoot, RanksLost
//   down  KeyedAllGathered, Failure, AllKnow, Released, Retired, Survey, Surveyed, Heartbeat, OwnerAsked,
//         OwnerAnswered, JobEnd, ToRank, Tolerate
//
// One part per concern: Exchanges, FailureNotifier, Leaving, ExitReports, GroupSurvey, OwnerInquiry,
// MapRelay, JobClock, RejoinHandler, ReportHandover, PeerWatch. This class gives each message to its part, and the loss of a
// process to all of them.
//
// Runs on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "comm/options.h"
#include "comm/rendezvous/control/job_clock.h"
#include "comm/rendezvous/control/map_relay.h"
#include "comm/rendezvous/control/peer_watch.h"
#include "comm/rendezvous/control/rejoin_handler.h"
#include "comm/rendezvous/control/report_handover.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/liveness/exchanges.h"
#include "comm/rendezvous/liveness/exit_reports.h"
#include "comm/rendezvous/liveness/failure_notifier.h"
#include "comm/rendezvous/liveness/leaving.h"
#include "comm/rendezvous/liveness/owner_inquiry.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/tree_links.h"
#include "comm/rendezvous/survey/group_survey.h"

namespace muster::rendezvous {

class ControlPlane {
 public:
  struct Events {
    // No handler may destroy the ControlPlane directly: post that.
    std::function<void(const Failure&)> on_failure = [](const auto&) {};  // once
    // Once, after on_failure: every remaining rank has received the failure.
    std::function<void()> on_all_know = [] {};
    std::function<void()> on_released = [] {};  // once, after Leave: this process may end
    // Complete, entries in rank order.
    std::function<void(const KeyedAllGather&)> on_gathered = [](const auto&) {};
    // State of the own ranks; if empty, only their presence is reported.
    Surveyor::ReportOwn report_own;
    OwnerInquiry::Look whose;  // owner of a connection as this node reports it; may be empty
    // At the root, if set: exit statuses of programs, including own ranks, as they arrive.
    std::function<void(const std::vector<RankEnd>&)> on_ends = [](const auto&) {};
    std::function<void()> on_ends_reported = [] {};  // once, after FinishEnds: no process waits for this one
    std::function<void(Deadline)> on_job_end = [](Deadline) {};  // no operation waits beyond this
    // From the root's service of maps, for an own rank or its program.
    std::function<void(int rank, ByteView message)> on_map_message = [](int, ByteView) {};
    // The last map has ended: from now on the end of a program is a failure again.
    std::function<void()> on_maps_over = [] {};
  };

  // Takes over the connections of a rendezvous (or of an adoption).
  ControlPlane(net::EventLoop& loop, Joined joined, std::vector<int> own_ranks, LivenessOptions liveness,
               Events events);
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  const FormedGroup& group() const { return group_; }
  const std::vector<int>& own_ranks() const { return own_ranks_; }
  bool is_root() const { return links_.is_root(); }
  const std::optional<Failure>& failure() const { return failures_.failure(); }
  // Another process has sent the failure to this one, and reports it to users.
  bool failure_is_from_parent() const { return failures_.from_parent(); }
  bool HasLeft(int rank) const { return leaving_.protocol().HasLeft(rank); }

  // For own ranks, or for the programs of own ranks.
  void Contribute(const KeyedAllGather& part) { exchanges_.Contribute(part); }
  // For the root's service of maps (comm/map).
  void SendToMaps(int rank, ByteView message) { maps_.SendToRoot(rank, message); }
  // While a map is at work the end of a rank's program is no failure of the group.
  bool tolerates_losses() const { return maps_.tolerates(); }
  // At the root: the maps of the group, also the last ones that are over.
  std::vector<map::MapState> LookAtMaps() const { return maps_.LookAtAll(); }
  // In order, or as a failure.
  void LoseProgram(int rank) { maps_.Lose({{rank}, ""}); }
  void LoseProgram(const Failure& failure) {
    maps_.Lose({{failure.rank}, failure.error.message, false, failure.exit_status});
  }
  // Of this process itself: its message begins with the rank and the node.
  Failure OwnFailure(Error error) const;
  // This process's finding. The root decides whether it was the first.
  void Fail(const Failure& failure) { failures_.Fail(failure); }
  // An own rank has failed; its finding follows within this time.
  void AwaitFailure(int rank, Duration within) {
    failures_.Await({rank, MillisecondsLeft(Deadline::After(within))});
  }
  // The own ranks are done. on_released follows when no process needs this one: for most immediately, for a
  // leader when its node's ranks have left, for the root when all have.
  void Leave() { leaving_.Leave(); }
  // The owner of a connection to this process, on any node; for the one process that serves the store.
  void AskOwner(OwnerQuestion question, OwnerInquiry::OnAnswer on_answer) {
    inquiry_.Ask(std::move(question), std::move(on_answer));
  }
  // Exit statuses of the programs of own ranks: before Leave, and in a failed group last of all
  // (exit_reports.h).
  void SendExitReport(const std::vector<RankEnd>& ends) { exit_reports_.Send(ends); }
  void FinishEnds(const std::vector<RankEnd>& ends, Duration patience) {
    exit_reports_.Finish(ends, patience);
  }
  // Ends the control plane although other processes need it; they go on without it.
  void Retire() { leaving_.Retire(); }
  // An own rank, or the program of one, has waited for liveness.straggler_after in an operation.
  void NoteLate() { survey_.NoteLate(); }
  // The state of every rank; `then` is called within about one and a half times `patience`.
  void AskAll(Duration patience, Surveyor::OnAnswer then) { survey_.AskAll(patience, std::move(then)); }

 private:
  using Source = ChildLinks::Source;

  void OnUpstreamFrame(ByteView frame);
  void OnUpstreamClosed(const Error& reason);
  void OnUpstreamRetired();
  void LoseUpstream(const Failure& loss);
  void DropUpstream();
  void OnChildFrame(Source source, ByteView frame);
  void OnChildClosed(Source source, const ChildLinks::Child& child, const Error& reason);
  void OnProcessEnded(Source source);
  void OnSilent(const PeerWatch::Silent& silent);
  void OnHopeless(const WaitingCall& call);
  void LoseRanks(const std::vector<int>& ranks, const Failure& failure);
  void Forget(Source source);
  void LoseReports(Source source, const ChildLinks::Child& child);
  bool HandOver(std::vector<RankEnd> ends);
  bool TakeReport(const OrphanReport& report);
  std::optional<Failure> LoseUnformed(const Hello& hello, const ProcessInfo& lost);
  void OnLeft(const std::set<int>& ranks);
  void OnReleased();

  const std::shared_ptr<const FormedGroup> formed_;
  const FormedGroup& group_;
  const std::shared_ptr<const JoinRequest> request_;  // null: no process below connects to this one
  TreeLinks links_;
  const std::vector<int> own_ranks_;
  const Events events_;
  FailureNotifier failures_;
  Leaving leaving_;
  Exchanges exchanges_;
  ExitReports exit_reports_;
  GroupSurvey survey_;
  OwnerInquiry inquiry_;
  MapRelay maps_;
  std::set<int> lost_to_maps_;  // of those below: they count as left
  JobClock job_clock_;
  std::unique_ptr<RejoinHandler> later_;
  std::unique_ptr<PeerWatch> peers_;
  std::unique_ptr<ReportHandover> handover_;
};

}  // namespace muster::rendezvous
