// Notices that a process above or below has ended, that its node has fallen silent, or that a process below on this node is
// stopped, and names it.
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/net/process_watch.h"
#include "comm/net/reach_probe.h"
#include "comm/rendezvous/control/subtree_probe.h"
#include "comm/rendezvous/liveness/heartbeat_monitor.h"
#include "comm/rendezvous/liveness/leave_protocol.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class PeerWatch {
 public:
  using Source = ChildLinks::Source;
  struct Params {
    TreeLinks& links;
    const FormedGroup& group;
    const LeaveProtocol& leaves;
    LivenessOptions liveness;
    int own_rank = 0;           // one of this process's
    int upstream_rank = 0;      // one of the process above, if that is on another node
    std::string upstream_name;  // set if it is no rank of the group
    uint16_t probe_port = 0;    // 0: the other nodes cannot be probed
  };
  struct Silent {
    Failure failure;
    bool above = false;
    std::vector<Source> below;
  };
  struct Events {
    std::function<void(Source)> on_ended;  // a process of this node; kSelf: the one above
    std::function<void(const Silent&)> on_silent;
    // After LoseNodesBehind: these ranks are on nodes that were silent as well.
    std::function<void(const std::vector<int>& ranks)> on_silent_behind;
  };

  PeerWatch(Params params, Events events);
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Its end is no event; kSelf: that of the process above.
  void Forget(Source source) { processes_.erase(source); }
  void StopHeartbeats() { heartbeat_.reset(); }

  // The failure that the end of a connection is. No message in `reason`: the process has ended.
  Failure LostUpstream(const Error& reason) const;
  Failure LostChild(const ChildLinks::Child& child, const Error& reason) const;
  // Whether leaders of other nodes are behind a child.
  bool HasNodesBehind(const ChildLinks::Child& child) const {
    return RanksOnItsNode(child).size() < child.ranks.size();
  }
  // Their ranks that are at work.
  std::vector<int> RanksBehind(const ChildLinks::Child& child) const;
  // This child is lost: do the nodes behind it answer?
  void LoseNodesBehind(Source source) {
    if (behind_) behind_->Lose(source);
  }
  // The node of the process above, also of one that is lost.
  const std::string& UpstreamNode() const { return roster().NodeName(upstream_ranks_.front()); }

 private:
  const Roster& roster() const { return params_.group.roster; }
  std::vector<int> UpstreamRanks() const;
  std::span<const int> RanksOnItsNode(const ChildLinks::Child& child) const;
  bool NeededByNone(const HeartbeatMonitor::Silence& silence) const;
  void WatchProcess(Source source, int fd);
  void OnProcessEnded(Source source);
  void WatchForStopped();
  void ReportStopped();
  std::vector<HeartbeatMonitor::Peer> OtherNodes() const;
  void OnSuspect(const HeartbeatMonitor::Silence& peer);
  void OnHeardAgain(const net::FrameStream& stream);
  void ProbeOtherNodes();
  void ProbeNodesBehind(Source source, const ChildLinks::Child& child);
  void OnSilentBehind(const std::vector<int>& nodes);
  std::vector<net::SocketAddress> AddressesOf(int node) const;
  std::vector<net::SocketAddress> LivingNodes() const;
  void OnSilent(const HeartbeatMonitor::Verdict& verdict);
  bool HearsAbove() const;
  Failure SilentAbove(const HeartbeatMonitor::Silence& above) const;
  Failure SilentBelow(const std::vector<HeartbeatMonitor::Silence>& dead,
                      const HeartbeatMonitor::Verdict& verdict) const;

  const Params params_;
  Events events_;
  bool upstream_same_node_ = false;
  std::vector<int> upstream_ranks_;                                 // those of the process at its other end
  std::map<Source, std::unique_ptr<net::ProcessWatch>> processes_;  // kSelf: the process above
  std::map<Source, int> stopped_;  // number of checks in a row that found it stopped
  std::unique_ptr<HeartbeatMonitor> heartbeat_;
  std::unique_ptr<net::ReachProbe> probe_;  // while nothing arrives from above
  std::unique_ptr<SubtreeProbe> behind_;    // since nothing arrived from a leader with nodes behind it
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
