// The tree that stays after a group has formed: program -> supervisor -> leader -> root. Up go parts of keyed
// all-gathers, failures and leave messages; down come whole all-gathers, the group's first failure and releases.
// A process that ends without a leave message, or a node that falls silent, is a failure of the group: every rank
// is told, with its name.
//
//   up    KeyedAllGather, Failure, FailureKnown, Leave, Ended, Late, Survey, Surveyed, Heartbeat, OwnerAsked, OwnerTold,
//         ToRoot, RanksLost
//   down  KeyedAllGathered, Failure, EveryoneKnows, Released, Retired, Survey, Surveyed, Heartbeat, OwnerAsked,
//         OwnerTold, JobEnd, ToRank, Tolerate
//
// Each concern is a part of its own: Exchanges, FailureNotifier, Leaving, ExitReports, GroupSurvey, OwnerInquiry,
// MapRelay, JobClock, RejoinHandler, PeerWatch. This class gives each message to its part, and the loss of a process
// to all of them.
//
// Lives on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/options.h"
#include "comm/rendezvous/control/job_clock.h"
#include "comm/rendezvous/control/map_relay.h"
#include "comm/rendezvous/control/peer_watch.h"
#include "comm/rendezvous/control/rejoin_handler.h"
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
    // None may destroy the ControlPlane: post that.
    std::function<void(const Failure&)> on_failure = [](const auto&) {};  // once
    // Once, after on_failure: no rank is left that has not been told.
    std::function<void()> on_everyone_knows = [] {};
    std::function<void()> on_released = [] {};  // once, after Leave: this process may end
    // Complete, entries in rank order.
    std::function<void(const KeyedAllGather&)> on_gathered = [](const auto&) {};
    // What the own ranks are doing; where it is empty they are just there.
    Surveyor::ReportOwn report_own;
    OwnerInquiry::Look whose;  // whose a connection is, as seen from here; may be empty
    // Where nobody is above (the root): how programs ended, own ranks' included, as it becomes known.
    std::function<void(const std::vector<RankEnd>&)> on_ends = [](const auto&) {};
    std::function<void()> on_ends_told = [] {};  // once, after FinishEnds: no process waits for this one
    std::function<void(Deadline)> on_job_end = [](Deadline) {};  // beyond this no operation is to wait
    // From the root's service of maps, for an own rank or its program.
    std::function<void(int rank, ByteView message)> on_map_message = [](int, ByteView) {};
    // No map is at work any longer: the last moment in which the end of a program is no failure for that.
    std::function<void()> on_maps_over = [] {};
    // At the root, while a map is at work: these ranks are gone, and the group goes on without them.
    std::function<void(const std::vector<int>& ranks)> on_ranks_lost = [](const auto&) {};
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
  // Another process has told this one of the failure, and says so to people.
  bool failure_was_told() const { return failures_.was_told(); }
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
  // What this process found out. The root decides whether it was the first.
  void Fail(const Failure& failure) { failures_.Fail(failure); }
  // The own ranks are done. on_released follows when nobody needs this process any more: at once for most,
  // for a leader when its node's ranks have left, for the root when all have.
  void Leave() { leaving_.Leave(); }
  // Whose a connection to this process is, on whichever node; for the one process that serves the store.
  void AskOwner(OwnerQuestion question, OwnerInquiry::OnAnswer on_answer) {
    inquiry_.Ask(std::move(question), std::move(on_answer));
  }
  // How the programs of own ranks ended: before Leave, and in a failed group last of all (exit_reports.h).
  void SendExitReport(std::vector<RankEnd> ends) { exit_reports_.Tell(std::move(ends)); }
  void FinishEnds(std::vector<RankEnd> ends, Duration patience) {
    exit_reports_.Finish(std::move(ends), patience);
  }
  // Ends the control plane although others still need it; they go on without it.
  void Retire() { leaving_.Retire(); }
  // An own rank, or the program of one, has waited for liveness.straggler_after in an operation.
  void NoteLate() { survey_.NoteLate(); }
  // What every rank is doing; `then` is called within about one and a half times `patience`.
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
  void OnLeft(const std::set<int>& ranks);
  void OnReleased();

  const std::shared_ptr<const FormedGroup> formed_;
  const FormedGroup& group_;
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
  JobClock job_clock_;
  std::unique_ptr<RejoinHandler> later_;
  std::unique_ptr<PeerWatch> peers_;
};

}  // namespace muster::rendezvous
