// What the ControlPlane makes of a process's end and of silence.
#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/control/control_plane.h"

namespace muster::rendezvous {
namespace {

constexpr ChildLinks::Source kUpstream = ChildLinks::kSelf;
// What a process said last may still be on its way when its end is already known.
constexpr Duration kCauseGrace = std::chrono::milliseconds(50);
// Asked whether they answer, when the root has fallen silent.
constexpr size_t kMostAsked = 8;

// The end of a process of this node is its own message: how its socket broke says nothing more.
Error OnThisNode(const Error& reason) {
  return reason.code == Code::kPeerLost ? reason : Error{Code::kPeerLost, "", ""};
}

}  // namespace

// ---- who is lost

Failure ControlPlane::LostRanks(const std::vector<int>& ranks, std::string_view how) const {
  return {{Code::kPeerLost, fmt::format("{} {}", DescribeRanks(group_.roster, ranks), how), ""},
          ranks.empty() ? -1 : ranks.front(),
          -1,
          ""};
}

Failure ControlPlane::LostUpstream(const Error& reason) const {
  if (upstream_name_.empty()) {
    return LostConnection(upstream_ranks_, upstream_same_node_ ? OnThisNode(reason) : reason);
  }
  return {{Code::kPeerLost, upstream_name_ + " ended without leaving its group", ""}, -1, -1, ""};
}

// Where a leader has ended, the other ranks of its node are out of reach, but they are not to blame.
Failure ControlPlane::LostChild(const ChildLinks::Child& child, const Error& reason) const {
  std::vector<int> lost;
  for (const int rank : child.ranks) {
    if (!members_.HasLeft(rank)) lost.push_back(rank);
  }
  std::ranges::sort(lost);
  if (child.same_node) return LostConnection(lost, OnThisNode(reason));
  if (!reason.message.empty()) return LostConnection(lost, reason);
  const int speaker = child.ranks.front();
  if (!members_.HasLeft(speaker)) return LostConnection(RanksOfProcess(speaker), reason);
  return LostRanks(lost, fmt::format("can no longer be heard: {}, which spoke for them, has ended",
                                     DescribeRank(group_.roster, speaker)));
}

Failure ControlPlane::LostConnection(const std::vector<int>& ranks, const Error& reason) const {
  if (reason.message.empty()) return LostRanks(ranks, "ended without leaving its group");
  return LostRanks(ranks, fmt::format("{} lost: {}", ranks.size() == 1 ? "was" : "were", reason.message));
}

// ---- liveness

// A forked worker may hold the connection open long after its rank has died: the process itself is watched as
// well.
void ControlPlane::WatchProcess(ChildLinks::Source source, int fd) {
  const auto credentials = net::CredentialsOf(fd);
  if (!credentials || credentials->pid == 0) return;
  processes_[source] = std::make_unique<net::ProcessWatch>(loop_, credentials->pid,
                                                           [this, source] { OnProcessEnded(source); });
}

void ControlPlane::OnProcessEnded(ChildLinks::Source source) {
  processes_.erase(source);
  loop_.After(kCauseGrace, [this, source, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    if (source == kUpstream) {
      if (upstream_) OnUpstreamClosed({});
      return;
    }
    auto node = children_->all().extract(source);
    if (!node.empty()) OnChildClosed(source, node.mapped(), {});
  });
}

// At each heartbeat: with a thousand nodes, nothing may be formatted or copied here.
std::vector<HeartbeatMonitor::Peer> ControlPlane::OtherNodes() {
  std::vector<HeartbeatMonitor::Peer> peers;
  peers.reserve(children_->all().size() + 1);
  if (upstream_ && !upstream_same_node_)
    peers.push_back({upstream_.get(), {&group_.root_rank, 1}, upstream_->last_received()});
  for (const auto& [source, child] : children_->all()) {
    if (child.same_node) continue;
    peers.push_back({child.stream.get(), child.ranks, child.stream->last_received()});
  }
  return peers;
}

// The verdict, at dead_after, shall rest on more than one silent peer.
void ControlPlane::OnSuspect(const HeartbeatMonitor::Silence& peer) {
  if (!upstream_ || peer.stream != upstream_.get() || probe_port_ == 0) return;
  const Roster& roster = group_.roster;
  std::vector<net::SocketAddress> others;
  for (size_t node = 0; node < roster.nodes.size() && others.size() < kMostAsked; ++node) {
    const auto number = static_cast<int>(node);
    if (number == roster.NodeOf(own_ranks_.front()) || number == roster.NodeOf(group_.root_rank)) continue;
    if (roster.nodes[node].addresses.empty()) continue;
    if (const auto address =
            net::SocketAddress::FromNumeric(roster.nodes[node].addresses.front(), probe_port_)) {
      others.push_back(*address);
    }
  }
  probe_ = others.empty() ? nullptr : std::make_unique<net::ReachProbe>(loop_, others);
}

bool ControlPlane::NobodyElseAnswers() const { return probe_ && probe_->answered() == 0; }

// Nobody's fault in particular: the programs of this node end like all others.
Failure ControlPlane::CutOff(std::string_view how) const {
  return {{Code::kPeerLost, fmt::format("{} is cut off: {}", group_.roster.NodeName(own_ranks_.front()), how),
           "look at this node's network: its link, its routes, its firewall"},
          -1,
          -1,
          ""};
}

// Whoever is silent confirms nothing: neither that it knows, nor, above, what was first.
void ControlPlane::OnSilent(const HeartbeatMonitor::Verdict& verdict) {
  std::vector<HeartbeatMonitor::Silence> dead = verdict.dead;
  std::erase_if(dead,
                [this](const HeartbeatMonitor::Silence& one) { return members_.AllHaveLeft(one.ranks); });
  if (dead.empty()) return;
  if (!upstream_ || dead.front().stream != upstream_.get()) return OnChildrenSilent(dead, verdict);
  const HeartbeatMonitor::Silence& above = dead.front();
  const std::string silent = FormatSeconds(above.silent);
  if (!own_failure_ && NobodyElseAnswers()) {
    own_failure_ = CutOff(fmt::format("nothing was heard of {} for {}, and of {} other {} none answers",
                                      DescribeRanks(group_.roster, above.ranks), silent, probe_->asked(),
                                      probe_->asked() == 1 ? "node" : "nodes"));
  }
  if (!own_failure_) {
    own_failure_ = LostRanks(above.ranks, "fell silent: nothing was heard for " + silent);
  }
  OnUpstreamClosed({});
}

// One node that loses most of the others at the same time is itself what all of them have in common.
void ControlPlane::OnChildrenSilent(const std::vector<HeartbeatMonitor::Silence>& dead,
                                    const HeartbeatMonitor::Verdict& verdict) {
  const std::string silent = FormatSeconds(dead.front().silent);
  if (verdict.silent >= 2 && verdict.silent * 2 > verdict.peers) {
    if (!failure_) {
      TakeFailure(CutOff(fmt::format("nothing was heard of {} of the {} other nodes for {}", verdict.silent,
                                     verdict.peers, silent)));
    }
  } else if (!failure_) {
    std::vector<int> ranks;
    for (const HeartbeatMonitor::Silence& one : dead) {
      ranks.insert(ranks.end(), one.ranks.begin(), one.ranks.end());
    }
    TakeFailure(LostRanks(ranks, "fell silent: nothing was heard for " + silent));
  }
  for (const auto& [source, child] : children_->all()) {
    const auto* stream = child.stream.get();
    if (std::ranges::none_of(dead, [&](const auto& one) { return one.stream == stream; })) continue;
    not_told_.erase(source);
    exit_reports_.GiveUp(source);
  }
  CheckEveryoneKnows();
}

}  // namespace muster::rendezvous
