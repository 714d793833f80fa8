// The tree that stays after a group has formed: program -> supervisor -> leader -> root. Up go parts of keyed
// all-gathers, failures and leave messages; down come whole all-gathers, the group's first failure and releases.
// A process that ends without a leave message, or a node that falls silent, is a failure of the group: every rank
// is told, with its name.
//
//   up    KeyedAllGather, Failure, FailureKnown, Leave, Ended, Late, Survey, Surveyed, Heartbeat, OwnerAsked, OwnerTold
//   down  KeyedAllGathered, Failure, EveryoneKnows, Released, Retired, Survey, Surveyed, Heartbeat, OwnerAsked,
//         OwnerTold, JobEnd
//
// The root decides which failure was first. Lives on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/net/process_watch.h"
#include "comm/net/reach_probe.h"
#include "comm/options.h"
#include "comm/rendezvous/control/exit_reports.h"
#include "comm/rendezvous/control/heartbeat_monitor.h"
#include "comm/rendezvous/control/job_clock.h"
#include "comm/rendezvous/control/membership_tracker.h"
#include "comm/rendezvous/control/owner_inquiry.h"
#include "comm/rendezvous/control/rejoin_handler.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/survey/straggler_watch.h"
#include "comm/rendezvous/survey/surveyor.h"

namespace muster::rendezvous {

class ControlPlane {
 public:
  struct Events {
    // Each may be empty. None may destroy the ControlPlane: post that.
    std::function<void(const Failure&)> on_failure;  // once
    std::function<void()>
        on_everyone_knows;              // once, after on_failure: no rank is left that has not been told
    std::function<void()> on_released;  // once, after Leave: this process may end
    std::function<void(const KeyedAllGather&)> on_gathered;  // complete, entries in rank order
    // What the own ranks are doing; where it is empty they are just there.
    Surveyor::ReportOwn report_own;
    OwnerInquiry::Look whose;  // whose a connection is, as seen from here
    // Where nobody is above (the root): how programs ended, own ranks' included, as it becomes known.
    std::function<void(const std::vector<RankEnd>&)> on_ends;
    std::function<void()> on_ends_told;  // once, after FinishEnds: nobody waits for this process any more
    std::function<void(Deadline)> on_job_end;  // beyond this no operation is to wait
  };

  // Takes over the connections of a rendezvous (or of an adoption).
  ControlPlane(net::EventLoop& loop, Joined joined, std::vector<int> own_ranks, LivenessOptions liveness,
               Events events);
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  ~ControlPlane();

  const FormedGroup& group() const { return group_; }
  const std::vector<int>& own_ranks() const { return own_ranks_; }
  bool is_root() const { return is_root_; }
  const std::optional<Failure>& failure() const { return failure_; }
  // Another process has told this one of the failure, and says so to people.
  bool failure_was_told() const { return failure_was_told_; }
  bool HasLeft(int rank) const { return members_.HasLeft(rank); }

  // For own ranks, or for the programs of own ranks.
  void Contribute(const KeyedAllGather& part);
  // What this process found out. The root decides whether it was the first.
  void Fail(Failure failure);
  // The own ranks are done. on_released follows when nobody needs this process any more: at once for most,
  // for a leader when its node's ranks have left, for the root when all have.
  void Leave();
  // Whose a connection to this process is, on whichever node; for the one process that serves the store.
  void AskOwner(OwnerQuestion question, OwnerInquiry::OnAnswer on_answer);
  // How the programs of own ranks ended: before Leave, and in a failed group last of all (exit_reports.h).
  void SendExitReport(std::vector<RankEnd> ends) { exit_reports_.Tell(std::move(ends)); }
  void FinishEnds(std::vector<RankEnd> ends, Duration patience) {
    exit_reports_.Finish(std::move(ends), patience);
  }
  // Ends the control plane although others still need it; they go on without it.
  void Retire();
  // An own rank, or the program of one, has waited for liveness.straggler_after in an operation.
  void NoteLate();
  // What every rank is doing; `then` is called within about one and a half times `patience`.
  void AskAll(Duration patience, Surveyor::OnAnswer then);

 private:
  void OnUpstreamFrame(ByteView frame);
  void OnUpstreamClosed(const Error& reason);
  void OnChildFrame(ChildLinks::Source source, ByteView frame);
  void OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child, const Error& reason);

  void TakeKeyedAllGather(const KeyedAllGather& part);
  void CheckHopeless(const std::set<int>& left);
  void Publish(const KeyedAllGather& whole);
  void TakeLeave(const std::vector<int>& ranks);
  void PassLeaveUp(const std::vector<int>& ranks);
  void SendLeaves();
  bool NobodyIsLeftBelow();
  bool NobodyNeedsUs();
  bool KnowsOf(int rank) const;
  std::optional<Error> StillHere(int rank) const;
  void CheckReleased();
  void Released();
  void TakeFailure(Failure failure);
  void Announce(const Failure& failure);
  void CheckEveryoneKnows();
  Failure LostUpstream(const Error& reason) const;
  Failure LostChild(const ChildLinks::Child& child, const Error& reason) const;
  Failure LostRanks(const std::vector<int>& ranks, std::string_view how) const;
  Failure LostConnection(const std::vector<int>& ranks, const Error& reason) const;
  std::vector<int> RanksOfProcess(int rank) const;
  std::vector<int> UpstreamRanks() const;

  void WatchProcess(ChildLinks::Source source, int fd);
  void OnProcessEnded(ChildLinks::Source source);
  std::vector<HeartbeatMonitor::Peer> OtherNodes();
  void OnSuspect(const HeartbeatMonitor::Silence& peer);
  void OnSilent(const HeartbeatMonitor::Verdict& verdict);
  void OnChildrenSilent(const std::vector<HeartbeatMonitor::Silence>& dead,
                        const HeartbeatMonitor::Verdict& verdict);
  Failure CutOff(std::string_view how) const;
  bool NobodyElseAnswers() const;

  void StartSurveys(std::unique_ptr<StatusServer> server);
  void ReportOwn(const Survey& survey, const std::function<void(Surveyor::Reports)>& reply) const;
  void Answer(const Survey& survey, const StatusServer::Reply& reply);
  void SendLate();
  void OnHopeless(const WaitingCall& call);

  net::EventLoop& loop_;
  FormedGroup group_;
  std::unique_ptr<net::FrameStream> upstream_;
  std::string upstream_name_;
  bool upstream_same_node_ = false;
  std::vector<int> upstream_ranks_;  // those of the process at its other end
  const bool is_root_;
  std::unique_ptr<ChildLinks> children_;
  std::vector<int> own_ranks_;
  LivenessOptions liveness_;
  Events events_;
  MembershipTracker members_;  // the root's; a leader uses it to know who of its node has left
  ExitReports exit_reports_;
  std::optional<Failure> failure_;
  bool failure_was_told_ = false;
  std::optional<Failure> own_failure_;  // sent up, not yet confirmed
  std::set<ChildLinks::Source> not_told_;
  std::vector<ChildLinks::Source> child_of_rank_;  // kSelf: none
  std::vector<int> leaves_;                        // not yet passed up
  bool everyone_knows_ = false;
  bool leaving_ = false;
  bool released_ = false;
  std::unique_ptr<HeartbeatMonitor> heartbeat_;
  std::unique_ptr<net::ReachProbe> probe_;  // while nothing is heard from above
  uint16_t probe_port_ = 0;                 // 0: the other nodes cannot be asked
  std::unique_ptr<Surveyor> surveyor_;
  std::unique_ptr<StatusServer> server_;
  std::unique_ptr<StragglerWatch> stragglers_;  // the root's
  std::string job_;
  uint64_t log_file_ = 0;
  Clock::time_point late_sent_{};
  std::unique_ptr<RejoinHandler> later_;
  std::unique_ptr<OwnerInquiry> inquiry_;
  std::unique_ptr<JobClock> job_clock_;
  std::map<ChildLinks::Source, std::unique_ptr<net::ProcessWatch>> processes_;  // kSelf: the process above
  net::EventLoop::TimerId own_failure_timer_ = 0;
  net::EventLoop::TimerId told_timer_ = 0;
  net::EventLoop::TimerId release_timer_ = 0;
  net::EventLoop::TimerId leave_timer_ = 0;
  net::EventLoop::TimerId late_timer_ = 0;
  std::map<std::string, net::EventLoop::TimerId> exchange_timers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
