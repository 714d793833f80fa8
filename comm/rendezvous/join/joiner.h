// Joins one process to its group; the result is the roster, or the one failure that every rank receives.
// comm/rendezvous/README.md has the rules.
//
//   NodeMeeting --at a leader--> RootConnection --link--> GroupFormation --> Joined, or FailureNotice
//              \--to the leader's socket------------------/
//
// A process that cannot be part of the group (JoinRequest::self.refused) takes the same steps and reports
// that: the root ends the group immediately.
//
// Runs on one EventLoop and never blocks. Ends by itself at timeouts.rendezvous at the latest, by the root's
// clock once the root is reached. Exception: while this launch's previous group still runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/net/event_loop.h"
#include "comm/rendezvous/join/failure_notice.h"
#include "comm/rendezvous/join/group_formation.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/node_meeting.h"
#include "comm/rendezvous/join/root_connection.h"
#include "comm/rendezvous/roster/waiting.h"

namespace muster::rendezvous {

// The progress of a process at its deadline.
struct UnformedGroup {
  int rank = 0;                          // of the process, the first
  Duration limit{};                      // timeouts.rendezvous
  Duration stopped{};                    // the last time that it stood still; zero: never
  Duration before_deadline{};            // from the end of that; negative or zero: after it
  bool leader = false;                   // of its node
  bool alone = false;                    // without the other ranks of its node
  std::optional<std::string> arrived{};  // at the root: "3/4 ranks; missing b: 3 (never connected)"
  std::string upstream{};                // name of the connected process; empty: no connection
  bool accepted = false;                 // by upstream
  bool below_a_leader = false;           // upstream is a leader between this process and the root
  bool name_is_taken_elsewhere = false;  // see NodeMeeting
  std::optional<Error> rejection{};      // the root, or a process taken for it, has rejected this process
  std::string problem{};                 // of the search for the root
};

// A rejection, or kDeadline with the process or the ranks that are missing.
Error DescribeDeadline(const Meeting& meeting, const std::string& node, const UnformedGroup& group);

class Joiner {
 public:
  // Called once, from the loop. Must not destroy the Joiner: post that. An owner that takes over the
  // connections does it before it returns, else the next messages are lost.
  using OnDone = std::function<void(tl::expected<Joined, Failure>)>;

  Joiner(net::EventLoop& loop, JoinRequest request, OnDone on_done);
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  void Start();

  // For reports. The ranks that have arrived so far: at the root, elsewhere null.
  const Arrivals* arrivals() const { return formation_.arrivals(); }
  // By the process above.
  bool accepted() const { return formation_.upstream().accepted(); }
  // This process ends: the connected ones receive the reason, and pass it on.
  void Send(const Failure& failure) { formation_.Send(failure); }
  // The nodes and the ranks on them, at the root also from the scheduler.
  const Placement& placement() const {
    return formation_.roster() ? formation_.roster()->placement() : request_.meeting.placement;
  }
  // Another process has sent the failure to this one, and reports it to users.
  bool failure_is_from_parent() const { return notice_ && notice_->from_above(); }
  // The group cannot form; this process only stays for ranks that are still on their way. OnDone follows.
  const Failure* failure() const { return notice_ && on_done_ ? &notice_->failure() : nullptr; }

 private:
  void Attach(std::unique_ptr<net::FrameStream> upstream, std::string name);
  void FollowLeader(std::unique_ptr<net::FrameStream> leader);
  void OnSilentLeader();
  void OnSilentAbove(const std::optional<std::string>& node);
  void OnRoot(std::unique_ptr<net::FrameStream> link, std::string name);
  void Lead();
  void StartAgain();
  void OnRestart();
  void OnLeaderLost(const std::string& node);
  void LimitReport();
  void WatchDescriptors();
  void CheckDescriptors();
  void StopTimers();
  std::optional<Failure> Reported() const;
  void OpenStatusServer();
  void OnDeadline();
  void OnFormed(FormedGroup group);
  Duration TimeForLateRanks(bool from_above) const;
  void Fail(Failure failure, bool from_above = false);
  void FailWith(const Error& error) { Fail({error}); }

  net::EventLoop& loop_;
  JoinRequest request_;
  OnDone on_done_;
  JoinDeadline deadline_;
  GroupFormation formation_;
  RootConnection root_;
  NodeMeeting meeting_;
  Clock::time_point lost_at_;          // the lost leader, if there is one
  int checks_without_descriptor_ = 0;  // in a row
  net::Timer descriptor_timer_;
  net::Timer leader_timer_;
  std::unique_ptr<StatusServer> status_server_;
  std::unique_ptr<FailureNotice> notice_;
};

}  // namespace muster::rendezvous
