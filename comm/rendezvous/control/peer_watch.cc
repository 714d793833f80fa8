#include "comm/rendezvous/control/peer_watch.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/liveness/exchange_tracker.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster::rendezvous {
namespace {

constexpr ChildLinks::Source kUpstream = ChildLinks::kSelf;
// The last message of a process may arrive after its end is known.
constexpr Duration kCauseGrace = std::chrono::milliseconds(50);
// Number of nodes that are probed when the root is silent.
constexpr size_t kMostAsked = 8;

// One process may represent several ranks.
std::vector<int> RanksOfProcess(const Roster& roster, int rank) {
  std::vector<int> ranks;
  for (const int other : roster.RanksOn(roster.NodeOf(rank))) {
    if (roster.OfOneProcess(rank, other)) ranks.push_back(other);
  }
  std::ranges::sort(ranks);
  return ranks;
}

Failure LostRanks(const Roster& roster, const std::vector<int>& ranks, std::string_view how) {
  return {{Code::kPeerLost, fmt::format("{} {}", DescribeRanks(roster, ranks), how)},
          ranks.empty() ? -1 : ranks.front()};
}

Failure LostProcess(const Roster& roster, const std::vector<int>& ranks, bool same_node,
                    const Error& reason) {
  // The end of a process of this node is its own message: the socket's error adds nothing.
  if (reason.message.empty() || (same_node && reason.code != Code::kPeerLost))
    return LostRanks(roster, ranks, "ended without leaving its group");
  return LostRanks(roster, ranks,
                   fmt::format("{} lost: {}", ranks.size() == 1 ? "was" : "were", reason.message));
}

// No rank is to blame: the programs of this node end like those of all nodes.
Failure CutOff(const Roster& roster, int own_rank, std::string_view how) {
  return {{Code::kPeerLost, fmt::format("{} is cut off: {}", roster.NodeName(own_rank), how),
           "look at this node's network: its link, its routes, its firewall"}};
}

}  // namespace

PeerWatch::PeerWatch(Params params, Events events) : params_(std::move(params)), events_(std::move(events)) {
  if (params_.links.upstream()) {
    upstream_same_node_ = net::LocalAddress(params_.links.upstream()->fd()).family() == AF_UNIX;
    upstream_ranks_ = UpstreamRanks();
    if (upstream_same_node_) WatchProcess(kUpstream, params_.links.upstream()->fd());
  }
  for (auto& [source, child] : params_.links.children().all()) {
    if (child.same_node) WatchProcess(source, child.stream->fd());
    // For RanksOnItsNode.
    const auto near = [this, node = roster().NodeOf(child.ranks.front())](int rank) {
      return roster().NodeOf(rank) == node;
    };
    std::stable_partition(child.ranks.begin(), child.ranks.end(), near);
  }
  WatchForStopped();
  if (OtherNodes().empty()) return;
  heartbeat_ = std::make_unique<HeartbeatMonitor>(
      params_.links.loop(), params_.liveness, [this] { return OtherNodes(); },
      HeartbeatMonitor::Events{[this](std::span<const int> ranks) {
                                 return DescribeRanks(roster(), {ranks.begin(), ranks.end()});
                               },
                               [this](const HeartbeatMonitor::Silence& peer) { OnSuspect(peer); },
                               [this](const HeartbeatMonitor::Verdict& verdict) { OnSilent(verdict); },
                               [this](const net::FrameStream& stream) { OnHeardAgain(stream); }});
}

// Local rank 0 leads. Without known local ranks the first process does: its pid is compared.
std::vector<int> PeerWatch::UpstreamRanks() const {
  if (!upstream_same_node_) return RanksOfProcess(roster(), params_.upstream_rank);
  const std::vector<int> on_node = roster().RanksOn(roster().NodeOf(params_.own_rank));
  const auto credentials = net::CredentialsOf(params_.links.upstream()->fd());
  for (const int rank : on_node) {
    if (credentials && roster().members[static_cast<size_t>(rank)].pid == credentials->pid) {
      return RanksOfProcess(roster(), rank);
    }
  }
  return {on_node.front()};
}

// ---- the end of a process

Failure PeerWatch::LostUpstream(const Error& reason) const {
  if (params_.upstream_name.empty())
    return LostProcess(roster(), upstream_ranks_, upstream_same_node_, reason);
  return {{Code::kPeerLost, params_.upstream_name + " ended without leaving its group"}};
}

// The process at the other end comes first, then the ranks of its node; those of the nodes behind it follow.
std::span<const int> PeerWatch::RanksOnItsNode(const ChildLinks::Child& child) const {
  const auto behind = std::ranges::find_if(
      child.ranks, [&](int rank) { return roster().NodeOf(rank) != roster().NodeOf(child.ranks.front()); });
  return {child.ranks.begin(), behind};
}

std::vector<int> PeerWatch::RanksBehind(const ChildLinks::Child& child) const {
  std::vector<int> behind;
  std::ranges::copy_if(std::span(child.ranks).subspan(RanksOnItsNode(child).size()),
                       std::back_inserter(behind),
                       [this](int rank) { return !params_.leaves.HasLeft(rank); });
  return behind;
}

// If a leader has ended, the other ranks of its node, and the nodes behind it, are out of reach but not to blame.
Failure PeerWatch::LostChild(const ChildLinks::Child& child, const Error& reason) const {
  std::vector<int> lost;
  for (const int rank : RanksOnItsNode(child)) {
    if (!params_.leaves.HasLeft(rank)) lost.push_back(rank);
  }
  std::ranges::sort(lost);
  if (child.same_node || !reason.message.empty()) return LostProcess(roster(), lost, child.same_node, reason);
  // Also if it had sent its own leave message: it stays for the ranks below it, which report the same.
  return LostProcess(roster(), RanksOfProcess(roster(), child.ranks.front()), false, reason);
}

// A forked worker may hold the connection open long after its rank has exited, so the process is watched as
// well.
void PeerWatch::WatchProcess(Source source, int fd) {
  const auto credentials = net::CredentialsOf(fd);
  if (!credentials || credentials->pid == 0) return;
  processes_[source] = std::make_unique<net::ProcessWatch>(params_.links.loop(), credentials->pid,
                                                           [this, source] { OnProcessEnded(source); });
}

void PeerWatch::OnProcessEnded(Source source) {
  processes_.erase(source);
  params_.links.loop().After(kCauseGrace, [this, source, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) events_.on_ended(source);
  });
}

// A stopped process ends neither its connection nor its pidfd, and only other nodes receive heartbeats.
void PeerWatch::WatchForStopped() {
  params_.links.loop().After(params_.liveness.suspect_after, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    ReportStopped();
    WatchForStopped();
  });
}

void PeerWatch::ReportStopped() {
  for (const auto& [source, child] : params_.links.children().all()) {
    const auto credentials = net::CredentialsOf(child.stream->fd());
    if (!processes_.contains(source) || !credentials) continue;
    const auto state = LookAtProcess(credentials->pid);
    int& looks = stopped_[source];
    looks = state && IsStopped(*state) ? looks + 1 : 0;
    // Once alone is too soon: after Ctrl-Z this process may continue before those below.
    if (looks != 2) continue;
    LogEvent(LogLevel::kWarning, "stopped", {{"ranks", FormatRanges(child.ranks)}, {"pid", credentials->pid}},
             "{} {} stopped (process {}, state {} {}): the group waits for it; continue it, or end it",
             DescribeRanks(roster(), child.ranks), child.ranks.size() == 1 ? "is" : "are", credentials->pid,
             state->state, state->where);
  }
}

// ---- the silence of a node

// At each heartbeat: with a thousand nodes, nothing may be formatted or copied here.
std::vector<HeartbeatMonitor::Peer> PeerWatch::OtherNodes() const {
  std::vector<HeartbeatMonitor::Peer> peers;
  peers.reserve(params_.links.children().all().size() + 1);
  if (params_.links.upstream() && !upstream_same_node_)
    peers.push_back(
        {params_.links.upstream(), {&params_.upstream_rank, 1}, params_.links.upstream()->last_received()});
  for (const auto& [source, child] : params_.links.children().all()) {
    if (child.same_node) continue;
    peers.push_back({child.stream.get(), RanksOnItsNode(child), child.stream->last_received()});
  }
  return peers;
}

void PeerWatch::OnSuspect(const HeartbeatMonitor::Silence& peer) {
  if (params_.probe_port == 0) return;
  if (params_.links.upstream() && peer.stream == params_.links.upstream()) return ProbeOtherNodes();
  for (const auto& [source, child] : params_.links.children().all()) {
    if (child.stream.get() == peer.stream && HasNodesBehind(child)) return ProbeNodesBehind(source, child);
  }
}

void PeerWatch::OnHeardAgain(const net::FrameStream& stream) {
  if (!behind_) return;
  for (const auto& [source, child] : params_.links.children().all()) {
    if (child.stream.get() == &stream) behind_->Forget(source);
  }
}

// The verdict, at dead_after, must rest on more than one silent peer.
void PeerWatch::ProbeOtherNodes() {
  std::vector<net::SocketAddress> others;
  for (size_t node = 0; node < roster().nodes.size() && others.size() < kMostAsked; ++node) {
    const auto number = static_cast<int>(node);
    if (number == roster().NodeOf(params_.own_rank) || number == roster().NodeOf(params_.upstream_rank))
      continue;
    const std::vector<net::SocketAddress> addresses = AddressesOf(number);
    if (!addresses.empty()) others.push_back(addresses.front());
  }
  probe_ = others.empty() ? nullptr : std::make_unique<net::ReachProbe>(params_.links.loop(), others);
}

void PeerWatch::ProbeNodesBehind(Source source, const ChildLinks::Child& child) {
  std::set<int> numbers;
  for (const int rank : RanksBehind(child)) numbers.insert(roster().NodeOf(rank));
  std::vector<SubtreeProbe::Node> behind;
  for (const int number : numbers) {
    SubtreeProbe::Node node{number, AddressesOf(number)};
    if (!node.addresses.empty()) behind.push_back(std::move(node));
  }
  // Nodes that live now, not those of an earlier silence.
  if (!behind_ || behind_->idle()) {
    behind_ =
        std::make_unique<SubtreeProbe>(params_.links.loop(), LivingNodes(),
                                       [this](const std::vector<int>& nodes) { OnSilentBehind(nodes); });
  }
  behind_->Begin(source, std::move(behind));
}

void PeerWatch::OnSilentBehind(const std::vector<int>& nodes) {
  std::vector<int> ranks;
  for (const int node : nodes) std::ranges::copy(roster().RanksOn(node), std::back_inserter(ranks));
  std::ranges::sort(ranks);
  LogInfo("{} {} lost with the leader above: {} not answer either", DescribeRanks(roster(), ranks),
          ranks.size() == 1 ? "is" : "are", nodes.size() == 1 ? "the node does" : "these nodes do");
  events_.on_silent_behind(ranks);
}

std::vector<net::SocketAddress> PeerWatch::AddressesOf(int node) const {
  const auto own = static_cast<size_t>(roster().NodeOf(params_.own_rank));
  return net::AddressesSeenFrom(roster().nodes[own].addresses,
                                roster().nodes[static_cast<size_t>(node)].addresses, params_.probe_port);
}

// A few that are connected to this one.
std::vector<net::SocketAddress> PeerWatch::LivingNodes() const {
  std::vector<net::SocketAddress> living;
  const auto now = Clock::now();
  for (const HeartbeatMonitor::Peer& peer : OtherNodes()) {
    if (now - peer.heard >= params_.liveness.suspect_after || living.size() == kMostAsked) continue;
    const std::vector<net::SocketAddress> addresses = AddressesOf(roster().NodeOf(peer.ranks.front()));
    if (!addresses.empty()) living.push_back(addresses.front());
  }
  return living;
}

// A leader stays for the nodes behind it.
bool PeerWatch::NeededByNone(const HeartbeatMonitor::Silence& silence) const {
  for (const auto& [source, child] : params_.links.children().all()) {
    if (child.stream.get() == silence.stream) return params_.leaves.AllHaveLeft(child.ranks);
  }
  return params_.leaves.AllHaveLeft(silence.ranks);
}

// A silent process confirms neither that it has the failure nor, above, which failure was first.
void PeerWatch::OnSilent(const HeartbeatMonitor::Verdict& verdict) {
  std::vector<HeartbeatMonitor::Silence> dead = verdict.dead;
  std::erase_if(dead, [this](const auto& one) { return NeededByNone(one); });
  if (dead.empty()) return;
  if (params_.links.upstream() && dead.front().stream == params_.links.upstream())
    return events_.on_silent({SilentAbove(dead.front()), true, {}});
  Silent silent{SilentBelow(dead, verdict), false, {}};
  for (const auto& [source, child] : params_.links.children().all()) {
    if (std::ranges::count(dead, child.stream.get(), &HeartbeatMonitor::Silence::stream) > 0)
      silent.below.push_back(source);
  }
  events_.on_silent(silent);
}

Failure PeerWatch::SilentAbove(const HeartbeatMonitor::Silence& above) const {
  const std::string silent = FormatSeconds(above.silent);
  if (!probe_ || probe_->answered() > 0)
    return LostRanks(roster(), above.ranks, "fell silent: no message for " + silent);
  return CutOff(roster(), params_.own_rank,
                fmt::format("no message from {} for {}, and none of {} other {} answers",
                            DescribeRanks(roster(), above.ranks), silent, probe_->asked(),
                            probe_->asked() == 1 ? "node" : "nodes"));
}

bool PeerWatch::HearsAbove() const {
  const net::FrameStream* const above = params_.links.upstream();
  return above != nullptr && !upstream_same_node_ &&
         Clock::now() - above->last_received() < params_.liveness.suspect_after;
}

// If one node loses most other nodes at the same time, that node is the common cause; not if the node above still reaches it.
Failure PeerWatch::SilentBelow(const std::vector<HeartbeatMonitor::Silence>& dead,
                               const HeartbeatMonitor::Verdict& verdict) const {
  const std::string silent = FormatSeconds(dead.front().silent);
  if (verdict.silent >= 2 && verdict.silent * 2 > verdict.peers && !HearsAbove()) {
    return CutOff(roster(), params_.own_rank,
                  fmt::format("no message from {} of the {} other nodes for {}", verdict.silent,
                              verdict.peers, silent));
  }
  std::vector<int> ranks;
  for (const HeartbeatMonitor::Silence& one : dead)
    ranks.insert(ranks.end(), one.ranks.begin(), one.ranks.end());
  return LostRanks(roster(), ranks, "fell silent: no message for " + silent);
}

}  // namespace muster::rendezvous
