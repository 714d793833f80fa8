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
    std::function<void()> on_released = [] {};  // once, after leaving().Leave: this process may end
    // Complete, entries in rank order.
    std::function<void(const KeyedAllGather&)> on_gathered = [](const auto&) {};
    // State of the own ranks; if empty, only their presence is reported.
    Surveyor::ReportOwn report_own;
    OwnerInquiry::Look whose;  // owner of a connection as this node reports it; may be empty
    // At the root, if set: exit statuses of programs, including own ranks, as they arrive.
    std::function<void(const std::vector<RankEnd>&)> on_ends = [](const auto&) {};
    // Once, after exit_reports().Finish: no process waits for this one.
    std::function<void()> on_ends_reported = [] {};
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
  bool HasLeft(int rank) const { return leaving_.protocol().HasLeft(rank); }
  // Of this process itself: its message begins with the rank and the node.
  Failure OwnFailure(Error error) const;

  // The parts, for own ranks and their programs. As this class, they belong to the loop's thread. Only this class gives
  // them messages and the loss of a process.
  FailureNotifier& failures() { return failures_; }
  Leaving& leaving() { return leaving_; }
  Exchanges& exchanges() { return exchanges_; }
  ExitReports& exit_reports() { return exit_reports_; }
  GroupSurvey& survey() { return survey_; }
  OwnerInquiry& inquiry() { return inquiry_; }
  MapRelay& maps() { return maps_; }

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
