// One process's way into its group: meets its node's other ranks, finds the root or is it, and ends with the
// roster or with the one sentence that every rank gets. comm/rendezvous/README.md has the rules.
//
//   follower --Unix socket--> leader --TCP, authenticated--> root          hello up, roster or failure down
//
// Who cannot be part of the group (JoinRequest::self.refused) goes the same way, and says so: the root ends
// the group at once.
//
// Lives on one EventLoop and never blocks. Ends by itself at timeouts.rendezvous at the latest (the root's
// clock counts for all that have reached it), except while told that this launch's previous group is still
// running.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/proof.h"
#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/root_finder.h"
#include "comm/rendezvous/discovery/root_search.h"
#include "comm/rendezvous/join/failure_notice.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/node_meeting.h"
#include "comm/rendezvous/join/root_side.h"
#include "comm/rendezvous/join/scheduler_inquiry.h"
#include "comm/rendezvous/join/waiting.h"

namespace muster::rendezvous {

// How long who cannot be part of the group looks for somebody to tell: the ranks of a step start seconds
// apart.
inline constexpr Duration kRefusedPatience = std::chrono::seconds(5);

class Joiner {
 public:
  // Called once, from the loop. Must not destroy the Joiner: post that. Who takes over the connections does
  // it before it returns, else what they say next is lost.
  using OnDone = std::function<void(tl::expected<Joined, Failure>)>;

  Joiner(net::EventLoop& loop, JoinRequest request, OnDone on_done);
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;
  ~Joiner();

  void Start();

  // For whoever tells how it went. Who has arrived so far: at the root, elsewhere null.
  const Arrivals* arrivals() const { return root_ ? &root_->arrivals() : nullptr; }
  // Another process has told this one of the failure, and says so to people.
  bool failure_was_told() const { return notice_ && notice_->from_above(); }
  // The group cannot form; this process only stays to tell those who are still on their way. OnDone follows.
  const Failure* failure() const { return notice_ && on_done_ ? &notice_->failure() : nullptr; }

 private:
  const RankClaim& first_claim() const { return request_.self.claims.front(); }

  // Inside the node.
  void BecomeLeader();
  void StartAgain();
  void OpenStatusServer();

  // To the root.
  auth::Prover* GetProver();
  void GoToRoot();
  Status MakeRoomForAll() const;
  void BecomeRoot();
  void SearchRoot();
  void SetPorts(RootSearch::Where& where) const;
  void OnMisplaced(const Error& error);
  void OnOwnHost();
  void SearchEndpointStore();
  void AskScheduler();
  void OnSchedulerFacts(const SchedulerFacts& facts);
  void OnLinkToRoot(std::unique_ptr<net::FrameStream> link);
  void ReportTheSearch();
  std::vector<std::string> RootHosts() const;
  std::string DescribeRoot() const;

  // Upstream and below.
  void AttachUpstream(std::unique_ptr<net::FrameStream> stream, std::string name);
  void OnUpstreamFrame(ByteView frame);
  void OnAccepted(uint64_t remaining_milliseconds, ByteView frame);
  void OnUpstreamClosed(const Error& reason);
  void OnChildFrame(ChildLinks::Source source, ByteView frame);
  void CompareWithUpstream(ByteView frame);
  void CompareWithBranch(ChildLinks::Source source, ByteView frame);
  void OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child);
  void OnFailureFromBelow(ByteView frame);
  void TakeFailureBelow(Failure failure);
  void HearFromBelow(ChildLinks::Source source, const Hello& hello);
  void ScheduleHello();
  void SendHello();
  void ForgetParties(ChildLinks::Source source);

  // The end.
  void Restart();
  void SetDeadline(Duration remaining);
  Deadline VerdictDeadline() const;
  void CancelTimers();
  void OnDeadline();
  Error DescribeDeadline() const;
  std::string DescribeWait() const;
  void OnRootOutcome(RootSide::Outcome outcome);
  void Form(FormedGroup group, ByteView frame);
  void Fail(Failure failure, bool from_above = false);
  void Fail(Error error) { Fail(Failure{std::move(error), -1, -1, ""}); }

  net::EventLoop& loop_;
  JoinRequest request_;
  OnDone on_done_;
  net::ThreadWorker munge_worker_;
  std::unique_ptr<auth::Prover> prover_;
  NodeMeeting node_meeting_;
  std::unique_ptr<StatusServer> status_server_;
  std::unique_ptr<ChildLinks> children_ = std::make_unique<ChildLinks>();
  std::unique_ptr<net::FrameStream> upstream_;
  std::string upstream_name_;
  std::unique_ptr<RootFinder> search_;
  std::unique_ptr<RootSide> root_;
  std::unique_ptr<SchedulerInquiry> inquiry_;
  std::unique_ptr<WaitReporter> reporter_;
  std::vector<std::pair<ChildLinks::Source, ProcessInfo>> members_;  // here and below
  size_t sent_ = 0;                                                  // of members_, to the present upstream
  ArrivedRanks arrived_;
  bool leader_ = false;
  bool accepted_ = false;                 // the root has heard us: its clock counts
  bool parked_ = false;                   // the previous group is still running
  bool over_ = false;                     // formed or failed
  std::optional<Failure> failure_below_;  // the first; sent up, as soon as there is an upstream
  Deadline deadline_ = Deadline::Never();
  net::EventLoop::TimerId deadline_timer_ = 0;
  net::EventLoop::TimerId root_timer_ = 0;
  net::EventLoop::TimerId hello_timer_ = 0;
  Duration collect_{};
  std::unique_ptr<FailureNotice> notice_;
};

}  // namespace muster::rendezvous
