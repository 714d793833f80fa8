// A process's part in forming its group, between the processes below it and the one above. A leader sends the hellos
// of those below up; the root fills the roster with them. It ends with the formed group, or with the failure that
// every rank gets.
//
//   DownstreamLinks --hello--> GroupFormation --hello--> UpstreamLink      roster or failure down
//
// Runs on one EventLoop. Has no deadline: on_failed comes only from ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/rendezvous/join/downstream_links.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/upstream_link.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/roster/arrivals.h"
#include "comm/rendezvous/roster/roster_builder.h"
#include "comm/rendezvous/roster/waiting.h"

namespace muster::rendezvous {

// The time for which a leader collects ranks of its node before it sends one hello up: zero if all are here.
// `last`: the time before the last hello.
Duration PauseBeforeHello(const ArrivedRanks& arrived, Duration last);

// No load delays a timer as long.
inline constexpr Duration kStopped = std::chrono::seconds(2);

class GroupFormation {
 public:
  // The last time that this process stood still; zero: never.
  struct Stop {
    Duration length{};
    Clock::time_point end{};
  };
  struct Events {
    // Upstream has accepted this process; its clock counts from now on.
    std::function<void()> on_accepted;
    // Upstream has gone before it accepted this process.
    std::function<void()> on_not_accepted;
    // The leader of this node has ended or cannot reach the root, and the root may lack this fact; or a leader between this process
    // and the root has ended. The first of them is lost_leader().
    std::function<void(const std::string& node)> on_leader_lost;
    // Whether this process can prove its own.
    std::function<bool()> can_prove;
    // Upstream, on another node, sends nothing. Without `node`, the leader's there, it has not accepted this process. Called
    // repeatedly.
    std::function<void(const std::optional<std::string>& node)> on_silent;
    // Upstream belonged to this launch's previous group, which has ended.
    std::function<void()> on_restart;
    // Rank 0 is below this leader, which has no upstream.
    std::function<void()> on_rank_zero;
    std::function<void(FormedGroup)> on_formed;
    // May be called more than once; the first counts.
    std::function<void(Failure, bool from_above)> on_failed;
  };

  // The references must outlive it.
  GroupFormation(net::EventLoop& loop, const JoinRequest& request, JoinDeadline& deadline, Events events);
  GroupFormation(const GroupFormation&) = delete;
  GroupFormation& operator=(const GroupFormation&) = delete;

  void Lead() { below_.SetLeader(); }
  void AddChild(std::unique_ptr<net::FrameStream> stream, std::string name, bool same_node);
  void Attach(std::unique_ptr<net::FrameStream> upstream, std::string name);
  // The messages from above that have arrived.
  void ReadUpstream() { upstream_.ReadNow(); }
  // With the ranks that have come so far.
  void BecomeRoot();
  // The root is elsewhere.
  void ResignAsRoot();

  const UpstreamLink& upstream() const { return upstream_; }
  DownstreamLinks& below() { return below_; }
  const DownstreamLinks& below() const { return below_; }

  // Null if this process is not the root.
  RosterBuilder* roster() { return root_ ? &root_->roster : nullptr; }
  const RosterBuilder* roster() const { return root_ ? &root_->roster : nullptr; }
  const Arrivals* arrivals() const { return root_ ? &root_->arrivals : nullptr; }
  bool leader() const { return below_.arrived().leader; }
  const TreePlace& place() const { return place_; }
  const Stop& stop() const { return stop_; }
  // The first; it goes to each upstream.
  const std::optional<Failure>& failure_below() const { return failure_below_; }

  // To all connected processes.
  void Send(const Failure& failure);

  // At the end, formed or failed: the next owner takes the link. No hello follows but the unsent ones.
  std::unique_ptr<net::FrameStream> TakeUpstream();

 private:
  // Of the process that is the root.
  struct Root {
    std::optional<Failure> Add(ChildLinks::Source source, const Hello& hello);
    Result<FormedGroup> Form(const JoinRequest& request);

    RosterBuilder roster;
    Clock::time_point began = Clock::now();
    Arrivals arrivals{};
    std::vector<std::string> reached_at{};  // local addresses that links came in on
  };

  void Fail(Error error) { events_.on_failed({std::move(error)}, false); }
  void OnAccepted(bool first);
  void OnLater(ByteView frame);
  void OnLeaderLost(ProcessInfo leader);
  void OnSilent(std::optional<ProcessInfo> leader);
  void OnHeardAgain();
  void OnHello(ChildLinks::Source source, const Hello& hello);
  void OnFailureBelow(Failure failure);
  void OnEndedBelow(ChildLinks::Source source);
  void ScheduleHello();
  void SendHello();
  void ScheduleHeartbeat(Duration pause);
  void OnHeartbeat(Duration late);
  void FillRoster(ChildLinks::Source source, const Hello& hello);
  void Form(FormedGroup group, ByteView frame);

  net::EventLoop& loop_;
  const JoinRequest& request_;
  Events events_;
  const TreePlace place_;
  UpstreamLink upstream_;
  DownstreamLinks below_;
  std::optional<Root> root_;
  std::optional<Failure> failure_below_;
  bool over_ = false;
  net::Timer hello_timer_;
  Duration collected_{};
  net::Timer heartbeat_timer_;
  Stop stop_;
};

}  // namespace muster::rendezvous
