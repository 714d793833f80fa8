// The Joiner's way to the root, or to being it.
#include <algorithm>

#include "comm/log/log.h"
#include "comm/net/descriptor_room.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/discovery/endpoint_store_search.h"
#include "comm/rendezvous/join/endpoint_store_choice.h"
#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

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
  LogInfo("{} does not lead to another machine by its name; Slurm says that it is at {}", host,
          found->second);
  return net::ResolveHost(found->second, 0).value_or(std::vector<net::SocketAddress>{});
}

}  // namespace

// Null, and the end, where there is none to be had.
auth::Prover* Joiner::GetProver() {
  if (prover_) return prover_.get();
  Result<std::unique_ptr<auth::Prover>> chosen = ChooseProver(request_, munge_worker_);
  if (!chosen) {
    Fail(chosen.error());
    return nullptr;
  }
  prover_ = *std::move(chosen);
  return prover_.get();
}

void Joiner::GoToRoot() {
  const Meeting& meeting = request_.meeting;
  const bool has_rank_zero = std::ranges::any_of(members_, [](const auto& entry) {
    return std::ranges::count(entry.second.claims, 0, &RankClaim::rank) > 0;
  });
  const bool on_first_node =
      !meeting.placement.nodes.empty() && meeting.placement.nodes.front().name == request_.self.node;
  switch (meeting.find_root) {
    case FindRoot::kSameNode:
      return BecomeRoot();
    case FindRoot::kFirstNode:
      return on_first_node ? BecomeRoot() : SearchRoot();
    case FindRoot::kHost:
    case FindRoot::kSearch:
    case FindRoot::kEndpoint:
    case FindRoot::kEndpointStore:
      return has_rank_zero ? BecomeRoot() : SearchRoot();
  }
}

// One for each other node and each rank of this one; where neither is known beforehand, as many as can be.
Status Joiner::MakeRoomForAll() const {
  const size_t nodes = request_.meeting.placement.nodes.size();
  const auto local = static_cast<size_t>(std::max(first_claim().local_size, 0));
  const auto all = static_cast<size_t>(std::max(request_.self.agreement.world_size, 0));
  const bool known = (nodes > 0 || request_.meeting.find_root == FindRoot::kSameNode) && local > 0;
  const std::string what = fmt::format("the root of {} ranks", all);
  if (known) return net::MakeRoomForDescriptors(std::min(all, nodes + local), what);
  if (const Status room = net::MakeRoomForDescriptors(all, what); !room)
    return net::RaiseDescriptorLimit().map([](auto) {});
  return {};
}

void Joiner::BecomeRoot() {
  search_.reset();
  if (request_.meeting.find_root == FindRoot::kEndpointStore && !request_.secret && !prover_) {
    Result<auth::JobSecret> drawn = auth::JobSecret::Generate();
    if (!drawn) return Fail(drawn.error());
    request_.root_address_secret = *std::move(drawn);
  }
  auth::Prover* prover = nullptr;
  if (request_.meeting.find_root != FindRoot::kSameNode) {
    prover = GetProver();
    if (prover == nullptr) return;
  }
  root_ = std::make_unique<RootSide>(
      loop_, request_, prover, *children_,
      [this](RootSide::Outcome outcome) { OnRootOutcome(std::move(outcome)); },
      [this](const Error& error) { OnMisplaced(error); });
  reporter_ = std::make_unique<WaitReporter>(loop_, request_.terminal, [this] {
    return AwaitedRanks{root_->Describe(), root_->MissingRanks()};
  });
  AskScheduler();
  root_->Start();
  // Not before it listens: those who come hear the reason.
  if (const Status room = MakeRoomForAll(); !room) return Fail(room.error());
  for (const auto& [source, member] : members_) {
    if (over_) return;
    if (source != ChildLinks::kSelf) root_->Hear(source, Hello{{}, {member}});
  }
}

// A group that forms has done so long before.
void Joiner::AskScheduler() {
  if (!request_.scheduler || request_.self.refused) return;
  inquiry_ = std::make_unique<SchedulerInquiry>(
      loop_, request_.scheduler, request_.scheduler->Unknown(),
      std::min(request_.scheduler_patience, request_.timeouts.rendezvous / 4),
      [this](const SchedulerFacts& facts) { OnSchedulerFacts(facts); });
}

void Joiner::OnSchedulerFacts(const SchedulerFacts& facts) {
  if (over_ || !root_) return;
  if (facts.placement) root_->Learn(*facts.placement);
  if (!facts.time_left) return;
  if (!facts.time_note.empty()) LogWarning("{}", facts.time_note);
  request_.timeouts.latest = Deadline::After(*facts.time_left);
  const Duration beyond = deadline_.Remaining() - *facts.time_left;
  if (beyond <= Duration::zero()) return;
  // What the sentence at the deadline says.
  request_.timeouts.rendezvous -= beyond;
  SetDeadline(*facts.time_left);
}

// Who looks for the root looks elsewhere: it is told there, by whoever leads that node.
void Joiner::OnMisplaced(const Error& error) {
  if (over_) return;
  // The endpoint store cannot be used, by the others no more than here.
  if (request_.meeting.find_root == FindRoot::kEndpointStore) return Fail(error);
  request_.self.refused = error;
  for (auto& [source, member] : members_) {
    if (source == ChildLinks::kSelf) member.refused = error;
  }
  root_timer_ = loop_.After(Duration::zero(), [this] {
    root_.reset();
    inquiry_.reset();
    reporter_.reset();
    SetDeadline(std::min(request_.timeouts.rendezvous, kRefusedPatience));
    SearchRoot();
  });
}

// The node that all look on. Its leader stands for the root there until rank 0 comes: from below, or to say
// that it runs elsewhere.
void Joiner::OnOwnHost() {
  root_timer_ = loop_.After(Duration::zero(), [this] {
    if (!over_ && !upstream_ && !root_) BecomeRoot();
  });
}

std::vector<std::string> Joiner::RootHosts() const {
  const Meeting& meeting = request_.meeting;
  if (meeting.find_root == FindRoot::kHost) return {meeting.host};
  if (meeting.find_root == FindRoot::kEndpoint) return {meeting.endpoint->host};
  std::vector<std::string> hosts;
  if (meeting.find_root == FindRoot::kEndpointStore) return hosts;
  for (const Placement::Node& node : meeting.placement.nodes) hosts.push_back(node.name);
  if (meeting.find_root == FindRoot::kFirstNode && hosts.size() > 1) hosts.resize(1);
  return hosts;
}

void Joiner::SearchRoot() {
  if (search_) return;
  if (request_.meeting.find_root == FindRoot::kEndpointStore) return SearchEndpointStore();
  const Meeting& meeting = request_.meeting;
  const bool may_be_here = leader_ && request_.named_by_host && !request_.self.refused &&
                           (meeting.find_root == FindRoot::kHost || meeting.find_root == FindRoot::kEndpoint);
  if (may_be_here && RootHosts().front() == request_.self.node) return BecomeRoot();
  auth::Prover* prover = GetProver();
  if (prover == nullptr) return;
  RootSearch::Where where{RootHosts(), {}};
  SetPorts(where);
  if (may_be_here) where.on_own_host = [this] { OnOwnHost(); };
  if (request_.scheduler) {
    where.elsewhere = [scheduler = request_.scheduler](const std::string& host) {
      return AddressesByScheduler(*scheduler, host);
    };
  }
  search_ = std::make_unique<RootSearch>(
      loop_, std::move(where),
      RootDialer::Params{auth::MeetingIdOf(meeting.key), request_.timeouts.handshake,
                         request_.timeouts.connect},
      *prover, [this](std::unique_ptr<net::FrameStream> link) { OnLinkToRoot(std::move(link)); },
      [this](const Error& error) { Fail(error); });
  ReportTheSearch();
}

void Joiner::SetPorts(RootSearch::Where& where) const {
  const Meeting& meeting = request_.meeting;
  where.crowd = std::max<size_t>(1, meeting.placement.nodes.size());
  if (meeting.find_root == FindRoot::kEndpoint) {
    where.ports = {meeting.endpoint->port};
    return;
  }
  std::vector<std::vector<uint16_t>> ladders;
  for (const std::string& seed : LadderSeeds(meeting.key, request_.secret)) {
    ladders.push_back(PortLadder(seed, request_.options.ports, meeting.ports_of_others, kWholeLadder));
  }
  const size_t length = ladders.front().size();
  const auto first = static_cast<ptrdiff_t>(std::min(kLadderLength, length));
  where.ports.assign(ladders.front().begin(), ladders.front().begin() + first);
  if (ladders.size() > 1) where.later_ports.assign(ladders[1].begin(), ladders[1].begin() + first);
  for (size_t i = kLadderLength; i < length; ++i) {
    for (const std::vector<uint16_t>& ladder : ladders) where.further_ports.push_back(ladder[i]);
  }
}

void Joiner::SearchEndpointStore() {
  search_ = std::make_unique<EndpointStoreSearch>(
      loop_, OpenEndpointStore(request_),
      RootDialer::Params{auth::MeetingIdOf(request_.meeting.key), request_.timeouts.handshake,
                         request_.timeouts.connect},
      [this](const std::optional<auth::JobSecret>& secret) {
        request_.root_address_secret = secret;
        return ChooseProver(request_, munge_worker_);
      },
      [this](std::unique_ptr<net::FrameStream> link) { OnLinkToRoot(std::move(link)); },
      [this](const Error& error) { Fail(error); });
  ReportTheSearch();
}

void Joiner::OnLinkToRoot(std::unique_ptr<net::FrameStream> link) {
  loop_.Cancel(root_timer_);
  AttachUpstream(std::move(link), DescribeRoot());
}

void Joiner::ReportTheSearch() {
  if (request_.self.refused) return;
  // One line a node is enough.
  if (leader_ || first_claim().local_rank <= 1) {
    reporter_ = std::make_unique<WaitReporter>(loop_, request_.terminal, [this] {
      return AwaitedRanks{DescribeWait(), {}};
    });
  }
}

// "rank 0 on gpu01", or as much of it as is known.
std::string Joiner::DescribeRoot() const {
  const Meeting& meeting = request_.meeting;
  const Placement& placement = meeting.placement;
  if (meeting.find_root == FindRoot::kSameNode) return fmt::format("local rank 0 on {}", request_.self.node);
  const std::vector<std::string> hosts = RootHosts();
  if (meeting.find_root != FindRoot::kFirstNode) {
    if (hosts.size() == 1) return fmt::format("rank 0 on {}", hosts.front());
    if (placement.node_of_rank.empty()) return "rank 0";
    return fmt::format("rank 0 on {}", placement.nodes.at(placement.node_of_rank.front()).name);
  }
  if (hosts.empty()) return "the first node's leader";
  const auto first = std::ranges::find(placement.node_of_rank, 0);
  if (first == placement.node_of_rank.end()) return fmt::format("the leader of {}", hosts.front());
  return fmt::format("rank {} on {}", first - placement.node_of_rank.begin(), hosts.front());
}

std::string Joiner::DescribeWait() const {
  if (accepted_ || parked_ || !search_ || upstream_) return "";
  const std::string problem = search_->Problem();
  return fmt::format("for the root, {}{}{}", DescribeRoot(), problem.empty() ? "" : "; ", problem);
}

}  // namespace muster::rendezvous
