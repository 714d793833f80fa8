#include "comm/rendezvous/join/root_connection.h"

#include <algorithm>
#include <utility>

#include "comm/base/lists.h"
#include "comm/log/log.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/discovery/endpoint_store_search.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

// Groups normally form well within this time.
constexpr Duration kProbePatience = std::chrono::seconds(2);

// BLOCKS: runs on a worker.
std::vector<net::SocketAddress> AddressesByScheduler(const Scheduler& scheduler, const std::string& host) {
  SchedulerQuestion question;
  question.nodes = {host};
  const Result<SchedulerFacts> facts = scheduler.Ask(question, Deadline::After(kSchedulerPatience));
  if (!facts) {
    LogSchedulerProblem(facts.error());
    return {};
  }
  const auto found = facts->addresses.find(host);
  if (found == facts->addresses.end() || found->second == host) return {};
  LogInfo("the name {} does not resolve to another machine; its address in Slurm is {}", host, found->second);
  return net::ResolveHost(found->second, 0).value_or(std::vector<net::SocketAddress>{});
}

}  // namespace

bool IsRoot(const Meeting& meeting, const std::string& node, bool leads_rank_zero) {
  if (meeting.find_root == FindRoot::kSameNode) return true;
  if (meeting.find_root != FindRoot::kFirstNode) return leads_rank_zero;
  return !meeting.placement.nodes.empty() && meeting.placement.nodes.front().name == node;
}

std::vector<std::string> RootHosts(const Meeting& meeting) {
  if (meeting.find_root == FindRoot::kHost) return {meeting.host};
  if (meeting.find_root == FindRoot::kEndpoint) return {meeting.endpoint->host};
  std::vector<std::string> hosts;
  if (meeting.find_root == FindRoot::kEndpointStore) return hosts;
  for (const Placement::Node& node : meeting.placement.nodes) {
    hosts.push_back(node.name);
    if (meeting.find_root == FindRoot::kFirstNode) break;
  }
  return hosts;
}

std::string DescribeRoot(const Meeting& meeting, const std::string& node) {
  const Placement& placement = meeting.placement;
  if (meeting.find_root == FindRoot::kSameNode) return fmt::format("local rank 0 on {}", node);
  const std::vector<std::string> hosts = RootHosts(meeting);
  if (meeting.find_root != FindRoot::kFirstNode) {
    if (hosts.size() == 1) return DescribeRank(0, hosts.front());
    if (placement.node_of_rank.empty()) return "rank 0";
    return DescribeRank(0, placement.nodes.at(placement.node_of_rank.front()).name);
  }
  if (hosts.empty()) return "the first node's leader";
  const auto first = std::ranges::find(placement.node_of_rank, 0);
  if (first == placement.node_of_rank.end()) return fmt::format("the leader of {}", hosts.front());
  return DescribeRank(static_cast<int>(first - placement.node_of_rank.begin()), hosts.front());
}

std::string DescribeLeader(const Meeting& meeting, const ProcessInfo& self) {
  if (self.claims.front().local_rank < 0) return "the leader of " + self.node;
  const Placement& placement = meeting.placement;
  for (size_t rank = 0; rank < placement.node_of_rank.size(); ++rank) {
    if (placement.nodes.at(static_cast<size_t>(placement.node_of_rank[rank])).name == self.node)
      return DescribeRank(static_cast<int>(rank), self.node);
  }
  return "local rank 0 on " + self.node;
}

std::string DescribeStandIn(const Meeting& meeting, const std::string& node) {
  const bool by_host = meeting.find_root == FindRoot::kHost;
  if (!by_host && meeting.find_root != FindRoot::kEndpoint) return "";
  return fmt::format("; {} is the root in place of rank 0, because {}{} is an address of {}", node,
                     by_host ? "MASTER_ADDR=" : "the endpoint ", RootHosts(meeting).front(), node);
}

namespace {

// Without a list: all nodes have as many ranks as this one, or one if their number is unknown.
size_t LikelyNodes(const ProcessInfo& self) {
  const int local = std::max(1, self.claims.empty() ? 1 : self.claims.front().local_size);
  return static_cast<size_t>(std::max(1, self.agreement.world_size / local));
}

}  // namespace

RootSearch::Where WhereToSearch(const JoinRequest& request) {
  RootSearch::Where where{RootHosts(request.meeting), {}};
  const size_t nodes = request.meeting.placement.nodes.size();
  where.crowd = nodes > 0 ? nodes : LikelyNodes(request.self);
  std::vector<Ladder> ladders = RootLadders(request);
  where.ports = ladders.front()(kLadderLength);
  if (ladders.size() > 1) where.later_ports = ladders[1](kLadderLength);
  if (where.ports.size() < kLadderLength) return where;  // the ladder has no further ports
  where.further_ports = [ladders = std::move(ladders)] {
    std::vector<std::vector<uint16_t>> whole;
    for (const Ladder& ladder : ladders) whole.push_back(ladder(kWholeLadder));
    std::vector<uint16_t> ports;
    for (size_t i = kLadderLength; i < whole.front().size(); ++i) {
      for (const std::vector<uint16_t>& ladder : whole) ports.push_back(ladder[i]);
    }
    return ports;
  };
  return where;
}

RootConnection::RootConnection(net::EventLoop& loop, JoinRequest& request, GroupFormation& formation,
                               JoinDeadline& deadline, Events events)
    : loop_(loop),
      request_(request),
      formation_(formation),
      deadline_(deadline),
      events_(std::move(events)),
      munge_worker_(loop.mailbox()) {}

void RootConnection::StopSearch() {
  above_timer_.Cancel();
  search_.reset();
}

void RootConnection::Stop() {
  over_ = true;
  step_timer_.Cancel();
  inquiry_.reset();
  reporter_.reset();
  StopSearch();
}

void RootConnection::Close() {
  Stop();
  silent_.reset();
  if (listener_) listener_->Close();
}

Result<auth::Prover*> RootConnection::GetProver() {
  if (!prover_) {
    MUSTER_TRY(prover_, ChooseProver(request_, munge_worker_));
  }
  return prover_.get();
}

void RootConnection::Go() {
  if (IsRoot(request_.meeting, request_.self.node, formation_.below().members().HasRankZero()))
    return BecomeRoot();
  if (formation_.leader() && formation_.place().accepts_leaders) ListenForChildren();
  Search();
}

// ---- as the root

void RootConnection::BecomeRoot() {
  const Meeting& meeting = request_.meeting;
  search_.reset();
  if (meeting.find_root == FindRoot::kEndpointStore && !request_.secret && !prover_) {
    Result<auth::JobSecret> drawn = auth::JobSecret::Generate();
    if (!drawn) return events_.on_failed(drawn.error());
    request_.root_address_secret = *std::move(drawn);
  }
  if (meeting.find_root != FindRoot::kSameNode) {
    const Result<auth::Prover*> prover = GetProver();
    if (!prover) return FailWithoutProof(prover.error());
    Listen(**prover, [this](const Error& error) { OnMisplaced(error); });
    if (meeting.placement.nodes.size() > 1) {
      silent_ = std::make_unique<SilentNodes>(
          loop_, std::min(kProbePatience, request_.timeouts.rendezvous / 4),
          PortLadder(meeting.key, request_.options.ports, meeting.ports_of_others, 1).front(),
          [this] { return formation_.roster()->SilentNodes(); },
          [this](const std::string& node, bool reached) { formation_.roster()->SetReached(node, reached); });
    }
  }
  Report();
  AskScheduler();
  formation_.BecomeRoot();
}

void RootConnection::Listen(auth::Prover& prover, RootListener::OnMisplaced on_misplaced) {
  listener_ = std::make_unique<RootListener>(
      loop_, request_, prover,
      [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer) {
        formation_.AddChild(std::move(link), peer.ToString(), false);
      },
      std::move(on_misplaced));
  listener_->Start();
}

// A leader that does not find this one tries the next.
void RootConnection::ListenForChildren() {
  if (listener_ || request_.self.refused) return;
  if (const Result<auth::Prover*> prover = GetProver())
    Listen(**prover, [](const Error& error) { LogDebug("{}", error.message); });
}

// Groups normally form well within this time.
void RootConnection::AskScheduler() {
  if (!request_.scheduler || request_.self.refused) return;
  inquiry_ = std::make_unique<SchedulerInquiry>(
      loop_, request_.scheduler, request_.scheduler->Unknown(),
      std::min(request_.scheduler_patience, request_.timeouts.rendezvous / 4),
      [this](const SchedulerFacts& facts) { OnSchedulerFacts(facts); });
}

void RootConnection::OnSchedulerFacts(const SchedulerFacts& facts) {
  if (facts.placement) formation_.roster()->SetPlacement(*facts.placement);
  if (!facts.time_left) return;
  if (!facts.time_note.empty()) LogWarning("{}", facts.time_note);
  request_.timeouts.latest = Deadline::After(*facts.time_left);
  const Duration beyond = deadline_.when().Remaining() - *facts.time_left;
  if (beyond <= Duration::zero()) return;
  // For the error at the deadline.
  request_.timeouts.rendezvous -= beyond;
  deadline_.Set(*facts.time_left);
}

// The other nodes search the root elsewhere. This process connects there, too, and reports why it is not the
// root.
void RootConnection::OnMisplaced(const Error& error) {
  if (over_) return;
  // No rank can use the endpoint store, or connect to a port that this user may not bind.
  if (request_.meeting.find_root == FindRoot::kEndpointStore || error.code == Code::kSystem)
    return events_.on_failed(error);
  request_.self.refused = error;
  step_timer_ = loop_.After(Duration::zero(), [this] {
    silent_.reset();
    listener_.reset();
    formation_.ResignAsRoot();
    inquiry_.reset();
    reporter_.reset();
    deadline_.Set(std::min(request_.timeouts.rendezvous, kRefusedPatience));
    Search();
  });
}

// ---- searching

void RootConnection::Search() {
  if (search_) return;
  const Meeting& meeting = request_.meeting;
  const RootDialer::Params params{auth::MeetingIdOf(meeting.key), request_.timeouts.handshake,
                                  request_.timeouts.connect};
  if (meeting.find_root == FindRoot::kEndpointStore) return SearchEndpointStore(params);
  RootSearch::Where where = WhereToSearch(request_);
  if (formation_.leader() && request_.named_by_host && !request_.self.refused &&
      (meeting.find_root == FindRoot::kHost || meeting.find_root == FindRoot::kEndpoint)) {
    if (where.hosts.front() == request_.self.node) return BecomeRoot();
    where.on_own_host = [this] { OnOwnHost(); };
  }
  const Result<auth::Prover*> prover = GetProver();
  if (!prover) return ShowNoProof(prover.error());
  if (below_a_leader()) {
    where.hosts = {formation_.place().above[tried_]};
    if (!next_above_)
      next_above_ = Clock::now() + std::min(request_.leader_patience, deadline_.when().Remaining() / 4);
    above_timer_ = loop_.At(*next_above_, [this] { TryNextAbove(); });
  }
  if (request_.scheduler) {
    where.elsewhere = [scheduler = request_.scheduler](const std::string& host) {
      return AddressesByScheduler(*scheduler, host);
    };
  }
  search_ = std::make_unique<RootSearch>(
      loop_, std::move(where), params, **prover,
      [this](std::unique_ptr<net::FrameStream> link) { OnLink(std::move(link)); },
      [this](const Error& error) { OnRejected(error); });
  Report();
}

// By a process of this launch. The root reports why.
void RootConnection::OnRejected(const Error& error) {
  if (!below_a_leader()) return events_.on_failed(error);
  above_timer_ = loop_.After(Duration::zero(), [this] { TryNextAbove(); });
}

void RootConnection::TryNextAbove() {
  LogDebug("{} does not accept this process; trying the next above it", DescribeAbove());
  StopSearch();
  ++tried_;
  next_above_.reset();
  Search();
}

void RootConnection::BeginAtParent() {
  tried_ = 0;
  next_above_.reset();
}

// The node beside the parent need not stay for the ranks below this process.
void RootConnection::GoAround(const std::string& lost_node) {
  const Detour detour = DetourAround(request_.meeting, lost_node, request_.self.node, request_.fan_out);
  tried_ = formation_.place().above.size() - detour.hosts.size();
  next_above_.reset();
}

std::string RootConnection::DescribeAbove() const {
  if (below_a_leader()) return fmt::format("the leader of {}", formation_.place().above[tried_]);
  return DescribeRoot(request_.meeting, request_.self.node);
}

// As the root. A rank of its node that has a proof can be the root in its place.
void RootConnection::FailWithoutProof(const Error& reason) {
  if (!request_.self.refused) request_.self.refused = reason;
  events_.on_failed(reason);
}

// The root rejects this process, so the root's log, waiting line and error have the reason. A peer without
// proof ends no other rank. Only the hello is sent, even if the other end requires no proof.
void RootConnection::ShowNoProof(const Error& reason) {
  if (!request_.self.refused) request_.self.refused = reason;
  deadline_.Set(std::min(request_.timeouts.rendezvous, kRefusedPatience));
  tried_ = formation_.place().above.size();
  no_proof_ = auth::MakeNoneProver();
  const auto end = [this, reason] { events_.on_failed(reason); };
  search_ = std::make_unique<RootSearch>(
      loop_, WhereToSearch(request_),
      RootDialer::Params{auth::MeetingIdOf(request_.meeting.key), request_.timeouts.handshake,
                         request_.timeouts.connect, true},
      *no_proof_, [end](auto) { end(); }, [end](const Error&) { end(); });
}

// The node on which all search the root. Its leader acts as root until rank 0 arrives, from below or with a
// report that it runs elsewhere.
void RootConnection::OnOwnHost() {
  step_timer_ = loop_.After(Duration::zero(), [this] {
    if (!formation_.upstream().attached() && formation_.roster() == nullptr) BecomeRoot();
  });
}

void RootConnection::SearchEndpointStore(const RootDialer::Params& params) {
  search_ = std::make_unique<EndpointStoreSearch>(
      loop_, OpenEndpointStore(request_), params,
      [this](const std::optional<auth::JobSecret>& secret) {
        request_.root_address_secret = secret;
        return ChooseProver(request_, munge_worker_);
      },
      [this](std::unique_ptr<net::FrameStream> link) { OnLink(std::move(link)); },
      [this](const Error& error) { events_.on_failed(error); });
  Report();
}

void RootConnection::OnLink(std::unique_ptr<net::FrameStream> link) {
  step_timer_.Cancel();
  events_.on_link(std::move(link), DescribeAbove());
}

// The root, and one line of each node that searches it.
void RootConnection::Report() {
  const bool one_line = formation_.leader() || request_.self.claims.front().local_rank <= 1;
  if (search_ && (request_.self.refused || !one_line)) return;
  reporter_ = std::make_unique<WaitReporter>(loop_, request_.terminal, [this] { return Awaited(); });
}

AwaitedRanks RootConnection::Awaited() const {
  if (const RosterBuilder* roster = formation_.roster()) {
    AwaitedRanks awaited{roster->Describe(), roster->MissingRanks()};
    if (!awaited.missing.empty() && awaited.missing.front() == 0)
      awaited.text += DescribeStandIn(request_.meeting, request_.self.node);
    if (const std::string problem = listener_ ? listener_->Problem() : ""; !problem.empty())
      awaited.text += "; " + problem;
    return awaited;
  }
  if (!search_) return {};
  const std::string problem = search_->Problem();
  return {fmt::format("for {}{}{}{}", below_a_leader() ? "" : "the root, ", DescribeAbove(),
                      problem.empty() ? "" : "; ", problem),
          {}};
}

}  // namespace muster::rendezvous
