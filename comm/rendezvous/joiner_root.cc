// The Joiner's way to the root, or to being it.
#include <algorithm>

#include "comm/rendezvous/joiner.h"
#include "comm/rendezvous/names.h"
#include "comm/rendezvous/prover_choice.h"

namespace muster {

// Null, and the end, where there is none to be had.
Prover* Joiner::GetProver() {
  if (prover_) return prover_.get();
  Result<std::unique_ptr<Prover>> chosen = ChooseProver(request_, munge_worker_);
  if (!chosen) {
    Fail(chosen.error());
    return nullptr;
  }
  prover_ = *std::move(chosen);
  return prover_.get();
}

void Joiner::GoToRoot() {
  const Meeting& meeting = request_.meeting;
  const bool has_rank_zero = std::ranges::any_of(parties_, [](const auto& entry) {
    return std::ranges::count(entry.second.claims, 0, &Claim::rank) > 0;
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
      return has_rank_zero ? BecomeRoot() : SearchRoot();
  }
}

void Joiner::BecomeRoot() {
  search_.reset();
  Prover* prover = nullptr;
  if (request_.meeting.find_root != FindRoot::kSameNode) {
    prover = GetProver();
    if (prover == nullptr) return;
  }
  root_ = std::make_unique<RootSide>(loop_, request_, prover, *branches_, [this](RootSide::Outcome outcome) {
    OnRootOutcome(std::move(outcome));
  });
  reporter_ = std::make_unique<WaitReporter>(loop_, request_.terminal, [this] { return root_->Describe(); });
  root_->Start();
  for (const auto& [source, party] : parties_) {
    if (ended_) return;
    if (source != Branches::kSelf) root_->Hear(source, Hello{{}, {party}});
  }
}

std::vector<std::string> Joiner::RootHosts() const {
  const Meeting& meeting = request_.meeting;
  if (meeting.find_root == FindRoot::kHost) return {meeting.host};
  if (meeting.find_root == FindRoot::kEndpoint) return {meeting.endpoint->host};
  std::vector<std::string> hosts;
  for (const Placement::Node& node : meeting.placement.nodes) hosts.push_back(node.name);
  if (meeting.find_root == FindRoot::kFirstNode && hosts.size() > 1) hosts.resize(1);
  return hosts;
}

void Joiner::SearchRoot() {
  if (search_) return;
  Prover* prover = GetProver();
  if (prover == nullptr) return;
  const Meeting& meeting = request_.meeting;
  const std::vector<uint16_t> ports = meeting.find_root == FindRoot::kEndpoint
                                          ? std::vector<uint16_t>{meeting.endpoint->port}
                                          : PortLadder(meeting.key, request_.options.ports);
  search_ = std::make_unique<RootSearch>(
      loop_, RootSearch::Where{RootHosts(), ports},
      RootDialer::Params{MeetingIdOf(meeting.key), request_.timeouts.handshake, request_.timeouts.connect},
      *prover,
      [this](std::unique_ptr<FrameStream> link) {
        loop_.Cancel(local_timer_);
        AttachUpstream(std::move(link), DescribeRoot());
      },
      [this](const Error& error) { Fail(error); });
  // One line a node is enough.
  if (leader_ || first_claim().local_rank <= 1) {
    reporter_ = std::make_unique<WaitReporter>(loop_, request_.terminal, [this] { return DescribeWait(); });
  }
}

// "rank 0 on gpu01", or as much of it as is known.
std::string Joiner::DescribeRoot() const {
  const Meeting& meeting = request_.meeting;
  const Placement& placement = meeting.placement;
  if (meeting.find_root == FindRoot::kSameNode) return fmt::format("local rank 0 on {}", request_.self.node);
  const std::vector<std::string> hosts = RootHosts();
  if (meeting.find_root != FindRoot::kFirstNode) {
    return hosts.size() == 1 ? fmt::format("rank 0 on {}", hosts.front()) : "rank 0";
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

}  // namespace muster
