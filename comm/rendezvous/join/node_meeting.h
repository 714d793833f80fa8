// Connects a process to the other ranks of its node.
//
//   follower --Unix socket--> leader
//
// A follower whose leader does not appear goes to the root itself, so that the error names the leader as
// missing. A follower that shares no directory with its leader (a container with its own /dev/shm and /tmp)
// does so earlier; no leader is named.
//
// Runs on one EventLoop. Never stops by itself: its owner has the deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket_owner.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/link/node_listener.h"

namespace muster::rendezvous {

enum class FirstStep {
  kLead,             // no other rank of this node can connect
  kListen,           // and lead
  kConnectOrLead,    // the only rank of its node: a process that listens there has formed a group with it
  kConnectOrListen,  // the first to bind the node's socket leads
  kFollow,
  kAlone,  // this process can meet no other of its node
};

// `claim`: the first of the process's `ranks` ranks. `same_node`: the whole launch is on this node.
FirstStep FirstStepOf(const RankClaim& claim, size_t ranks, bool user_ids_are_reliable, bool same_node);

class NodeMeeting {
 public:
  struct Events {
    std::function<void(std::unique_ptr<net::FrameStream>, std::string name)> on_child;  // a rank of this node
    std::function<void(std::unique_ptr<net::FrameStream>)> on_leader;  // the link to this node's leader
    std::function<void()> on_lead;                                     // this process leads its node; once
    std::function<void()> on_alone;                                    // it goes to the root without a leader
    std::function<bool()> whole_node_is_here;                          // at a leader
    std::function<void(const Error&)> on_failed;
  };

  // Whether a Unix socket of that user listens at a path with that part. Absent: the kernel does not report owners.
  using HasListener = std::function<std::optional<bool>(uid_t, std::string_view)>;

  // `request` must outlive it.
  NodeMeeting(net::EventLoop& loop, const JoinRequest& request, Events events,
              HasListener has_listener = net::HasListeningUnixSocket);
  NodeMeeting(const NodeMeeting&) = delete;
  NodeMeeting& operator=(const NodeMeeting&) = delete;

  // May be called again by a process that does not lead.
  void Start();
  // The leader has ended while the group was forming: the first of its followers to bind its socket leads.
  void TakeOver();
  // `step` after a pause that grows, to 100 ms.
  void Retry(std::function<void()> step);
  // This process has an upstream: it searches no leader.
  void StopSearch();
  // The listener stays open.
  void Stop();
  // Null unless it is open.
  std::unique_ptr<NodeListener> TakeListener();

  // This process cannot meet the other ranks of its node, and has connected to the root itself.
  bool alone() const { return alone_; }
  // A socket of the leader's name listens outside of this process's directories. Its owner is unknown: it may be the
  // leader's, or any user's.
  bool name_is_taken_elsewhere() const { return name_is_taken_elsewhere_; }

 private:
  bool Connect();
  void Listen();
  void Lead();
  void Follow();
  bool LeaderIsListed();
  bool LeaderIsOutOfSight();
  void GoAlone(const std::string& reason, const std::string& hint);

  net::EventLoop& loop_;
  const JoinRequest& request_;
  Events events_;
  const HasListener has_listener_;
  LocalNames names_;
  std::unique_ptr<NodeListener> listener_;
  bool alone_ = false;
  bool taking_over_ = false;
  bool kernel_reports_owners_ = true;  // as far as it has been asked
  bool name_is_taken_elsewhere_ = false;
  bool leader_is_busy_ = false;                          // its queue was full at the last attempt to connect
  std::optional<Clock::time_point> out_of_sight_since_;  // the leader is there, its directory is not
  Duration pause_{};
  net::Timer retry_timer_;
  std::optional<net::Timer> patience_timer_;  // since this process searches its leader
  net::Timer directory_timer_;
};

}  // namespace muster::rendezvous
