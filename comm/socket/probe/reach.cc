#include "comm/socket/probe/reach.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "comm/base/parse.h"
#include "comm/net/event_loop.h"
#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "comm/socket/transport/dial.h"
#include "comm/socket/transport/handshake.h"
#include "comm/socket/transport/peer_acceptor.h"

namespace muster::socket {
namespace {

// No communicator has this number: the numbers of communicators begin at 1.
constexpr uint64_t kProbe = 0;
constexpr Duration kProgressEvery = std::chrono::milliseconds(250);
// Time limit of a proof once the kernel has connected.
constexpr Duration kProof = std::chrono::seconds(1);

class Prober {
 public:
  Prober(Group& group, const SocketEndpoint& endpoint, const std::vector<ReachPeer>& peers,
         const ReachOptions& options, net::EventLoop& loop)
      : group_(group),
        peers_(peers),
        options_(options),
        self_{group.rank(), group.roster().size(), group.key(), group.roster().group_id},
        loop_(loop),
        reached_(peers.size()),
        dialed_(peers.size()),
        acceptor_(loop_, self_, endpoint, {.handshake = options.connect},
                  [this](const LinkKey& key, ProvenLink link) { OnArrival(key, std::move(link)); }) {
    for (size_t i = 0; i < peers.size(); ++i) index_of_[peers[i].rank] = i;
  }

  Status Run() {
    const auto rounds = static_cast<Duration::rep>(peers_.size() / options_.at_once + 1);
    const Deadline all = Deadline::After((options_.connect + kProof) * rounds);
    MUSTER_CHECK(acceptor_.Start());
    while (settled_ < peers_.size() || (arrived_ < peers_.size() && !all.Expired())) {
      StartDials();
      MUSTER_CHECK(Wait(all));
      loop_.RunReady();
      acceptor_.OnTime();
      SettleDials();
      Report();
    }
    return {};
  }

  std::vector<Reached> Take() { return std::move(reached_); }

 private:
  struct OneDial {
    size_t peer;
    Deadline by;
    std::unique_ptr<Dial> dial;
  };

  DialStages StagesTo(const ReachPeer& peer) const {
    const Roster& roster = group_.roster();
    const auto hosts_of = [&](int rank) -> const std::vector<std::string>& {
      return roster.nodes[static_cast<size_t>(roster.NodeOf(rank))].addresses;
    };
    std::vector<net::SocketAddress> addresses =
        net::AddressesSeenFrom(hosts_of(self_.rank), hosts_of(peer.rank), peer.address.port);
    return addresses.empty() ? DialStages{} : DialStages{std::move(addresses)};
  }

  void StartDials() {
    while (next_ < peers_.size() && dials_.size() < options_.at_once) {
      const ReachPeer& peer = peers_[next_];
      const LinkKey key{kProbe, Purpose::kPointToPoint, peer.rank};
      dials_.push_back({next_++, Deadline::After(options_.connect + kProof),
                        std::make_unique<Dial>(loop_, self_, key, StagesTo(peer), options_.connect)});
    }
  }

  Status Wait(Deadline all) {
    Deadline until = Deadline::After(kProgressEvery).EarlierOf(acceptor_.wake());
    if (settled_ == peers_.size()) until = until.EarlierOf(all);
    bool ready = false;
    for (const OneDial& one : dials_) {
      until = until.EarlierOf(one.by).EarlierOf(one.dial->wake());
      ready = ready || one.dial->state() != Dial::State::kTrying;
    }
    std::array<pollfd, 2> watched = {{{loop_.fd(), POLLIN, 0}, {group_.failure_fd(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), ready ? 0 : until.PollMilliseconds());
    if (auto failure = group_.failure()) return Fail(*std::move(failure));
    return {};
  }

  void SettleDials() {
    for (OneDial& one : dials_) one.dial->OnTime();
    for (auto one = dials_.begin(); one != dials_.end();) {
      if (one->dial->state() == Dial::State::kTrying && !one->by.Expired()) {
        ++one;
        continue;
      }
      Settle(one->peer, *one->dial);
      one = dials_.erase(one);
    }
  }

  void Settle(size_t peer, Dial& dial) {
    ++settled_;
    dialed_[peer] = true;
    Reached& reached = reached_[peer];
    if (dial.state() == Dial::State::kConnected) {
      UniqueFd link = dial.TakeConnection().fd;
      if (peers_[peer].keep && self_.rank > peers_[peer].rank) reached.link = std::move(link);
      return;
    }
    reached.failure = dial.Tried();
    if (!reached.failure.empty()) return;
    reached.failure =
        dial.state() == Dial::State::kFailed
            ? "it has no address that another node could reach"
            : fmt::format("something listens there, but no member of the group answered within {}",
                          FormatDuration(options_.connect + kProof));
  }

  void Report() {
    if (!options_.progress || !tell_.Expired()) return;
    tell_ = Deadline::After(kProgressEvery);
    std::vector<int> waited_for;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (!dialed_[i] || !reached_[i].arrived) waited_for.push_back(peers_[i].rank);
    }
    options_.progress(waited_for);
  }

  void OnArrival(const LinkKey& key, ProvenLink link) {
    const auto found = index_of_.find(key.peer);
    if (found == index_of_.end() || key.communicator != kProbe) return;
    Reached& reached = reached_[found->second];
    if (!reached.arrived) ++arrived_;
    reached.arrived = true;
    if (peers_[found->second].keep && key.peer > self_.rank) reached.link = std::move(link.fd);
  }

  Group& group_;
  const std::vector<ReachPeer>& peers_;
  const ReachOptions& options_;
  const GroupMember self_;
  net::EventLoop& loop_;
  std::map<int, size_t> index_of_;
  std::vector<Reached> reached_;
  std::vector<bool> dialed_;
  std::vector<OneDial> dials_;
  size_t next_ = 0;
  size_t settled_ = 0;
  size_t arrived_ = 0;
  Deadline tell_ = Deadline::After(kProgressEvery);
  PeerAcceptor acceptor_;
};

}  // namespace

Result<std::vector<Reached>> ReachAll(Group& group, const SocketEndpoint& endpoint,
                                      const std::vector<ReachPeer>& peers, const ReachOptions& options) {
  MUSTER_TRY(const std::unique_ptr<net::EventLoop> loop, net::EventLoop::Create());
  Prober prober(group, endpoint, peers, options, *loop);
  MUSTER_CHECK(prober.Run());
  return prober.Take();
}

}  // namespace muster::socket
