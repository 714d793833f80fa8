#include "comm/rendezvous/roster/roster_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/base/lists.h"
#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {
namespace {

// More are named together: a line must stay readable when half of a thousand nodes are missing.
constexpr size_t kNodesApart = 16;
// Bytes for the names of nodes.
constexpr size_t kLongestNames = 1024;

// They repeat if two nodes have one name, so they are no ranges.
std::string FewOf(const std::vector<int>& numbers) {
  constexpr size_t kMost = 32;
  const size_t named = std::min(numbers.size(), kMost);
  const std::string text = fmt::format(
      "{}", fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(named), ","));
  return named == numbers.size() ? text : fmt::format("{} and {} more", text, numbers.size() - named);
}

Failure AsFailure(Error error) { return {std::move(error)}; }

}  // namespace

Failure EndedWhileForming(std::vector<int> ranks, const std::string& node) {
  std::ranges::sort(ranks);
  return {{Code::kPeerLost, FormatRanks(ranks, node) + " ended while the group was forming"}, ranks.front()};
}

RosterBuilder::RosterBuilder(ProcessInfo self, Placement placement)
    : self_(std::move(self)),
      placement_(std::move(placement)),
      seats_(static_cast<size_t>(self_.agreement.world_size)) {
  if (placement_.node_of_rank.size() != seats_.size()) placement_.node_of_rank.clear();
}

void RosterBuilder::SetPlacement(Placement placement) {
  if (placement.node_of_rank.size() == seats_.size()) placement_ = std::move(placement);
}

std::optional<Failure> RosterBuilder::Add(Source source, const Hello& hello) {
  for (const ProcessInfo& member : hello.members) {
    if (member.refused) return RefusalOf(member);
    if (auto disagreement = FindDisagreement(self_, member)) return AsFailure(*std::move(disagreement));
    if (const auto [speaker, first] = speakers_.try_emplace(source); first) {
      speaker->second.node = member.node;
      for (const RankClaim& claim : member.claims) speaker->second.ranks.push_back(claim.rank);
    }
    auto& addresses = node_addresses_[member.node];
    if (addresses.empty()) addresses = hello.addresses;
    for (const RankClaim& claim : member.claims) {
      if (auto error = TakeSeat(source, member, claim)) return AsFailure(*std::move(error));
    }
  }
  return std::nullopt;
}

std::optional<Error> RosterBuilder::TakeSeat(Source source, const ProcessInfo& member,
                                             const RankClaim& claim) {
  if (claim.rank < 0 || claim.rank >= world_size()) {
    return Error{
        Code::kBadEnvironment,
        fmt::format("pid {} on {} claims rank {} of {}", member.pid, member.node, claim.rank, world_size()),
        "run \"muster resolve\" there to see where it comes from"};
  }
  Seat& seat = seats_[static_cast<size_t>(claim.rank)];
  if (seat.taken) {
    // Also over another connection: a rank whose leader does not answer comes by itself.
    const bool again = (seat.source == source || member.id != 0) && seat.node == member.node &&
                       seat.pid == member.pid && seat.process == member.id;
    if (again) return std::nullopt;
    return ClaimedTwice(claim.rank, {seat.pid, seat.node}, {member.pid, member.node});
  }
  const int first = std::ranges::min(member.claims, {}, &RankClaim::rank).rank;
  seat = Seat{true, source, member.node, member.pid, member.id, first, claim};
  ++here_;
  return std::nullopt;
}

std::optional<Failure> RosterBuilder::Remove(Source source) {
  const auto found = speakers_.find(source);
  if (found == speakers_.end() || found->second.ranks.empty()) return std::nullopt;
  return EndedWhileForming(found->second.ranks, found->second.node);
}

void RosterBuilder::SetAddresses(const std::string& node, std::vector<std::string> addresses) {
  node_addresses_[node] = std::move(addresses);
}

Result<Roster> RosterBuilder::MakeRoster() const {
  Roster roster;
  std::map<std::string, int> node_index;
  for (const Seat& seat : seats_) {
    const auto [found, added] = node_index.emplace(seat.node, static_cast<int>(roster.nodes.size()));
    if (added) roster.nodes.push_back({seat.node, node_addresses_.at(seat.node)});
    roster.members.push_back(
        {found->second, seat.claim.local_rank, seat.pid, seat.claim.payload, seat.first});
  }
  MUSTER_CHECK(CheckLocalRanks(roster));
  return roster;
}

// If a launcher does not set the local rank, the order of the ranks on the node is the local order.
Status RosterBuilder::CheckLocalRanks(Roster& roster) const {
  std::vector<std::vector<int>> on_node(roster.nodes.size());
  for (int rank = 0; rank < roster.size(); ++rank)
    on_node[static_cast<size_t>(roster.NodeOf(rank))].push_back(rank);
  for (size_t node = 0; node < on_node.size(); ++node) {
    std::vector<int> local_ranks;
    for (const int rank : on_node[node])
      local_ranks.push_back(roster.members[static_cast<size_t>(rank)].local_rank);
    std::ranges::sort(local_ranks);
    if (local_ranks.front() < 0) {
      int next = 0;
      for (const int rank : on_node[node])
        roster.members.own()[static_cast<size_t>(rank)].local_rank = next++;
      continue;
    }
    for (size_t i = 0; i < local_ranks.size(); ++i) {
      if (local_ranks[i] == static_cast<int>(i)) continue;
      return WithHint(
          Fail(Code::kDisagreement, "the local ranks of {} on {} are {} instead of 0 to {}",
               FormatRanks(on_node[node]), roster.nodes[node].name, FewOf(local_ranks),
               local_ranks.size() - 1),
          "look for two nodes with one name, two torchrun agents on one node, or an exported LOCAL_RANK");
    }
  }
  return {};
}

std::vector<int> RosterBuilder::MissingRanks() const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < seats_.size(); ++rank) {
    if (!seats_[rank].taken) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::map<std::string, int> RosterBuilder::ArrivedByNode() const {
  std::map<std::string, int> arrived;
  for (const Seat& seat : seats_) {
    if (seat.taken) ++arrived[seat.node];
  }
  return arrived;
}

std::vector<RosterBuilder::MissingOnNode> RosterBuilder::MissingByNode() const {
  std::vector<MissingOnNode> missing;
  if (!placement_.node_of_rank.empty()) {
    for (const Placement::Node& node : placement_.nodes) missing.push_back({node.name, {}, 0});
    for (const int rank : MissingRanks()) {
      MissingOnNode& node = missing[static_cast<size_t>(placement_.node_of_rank[static_cast<size_t>(rank)])];
      node.ranks.push_back(rank);
      ++node.count;
    }
  } else {
    const std::map<std::string, int> arrived = ArrivedByNode();
    for (const Placement::Node& node : placement_.nodes) {
      const auto found = arrived.find(node.name);
      missing.push_back({node.name, {}, node.tasks - (found == arrived.end() ? 0 : found->second)});
    }
  }
  std::erase_if(missing, [](const MissingOnNode& node) { return node.count <= 0; });
  return missing;
}

std::vector<std::string> RosterBuilder::SilentNodes() const {
  const std::map<std::string, int> arrived = ArrivedByNode();
  std::vector<std::string> silent;
  for (const Placement::Node& node : placement_.nodes) {
    if (!arrived.contains(node.name)) silent.push_back(node.name);
  }
  return silent;
}

// A node that is reached and stays silent cannot reach the root, or nothing has started there.
std::string RosterBuilder::WhyMissing(const std::string& node,
                                      const std::map<std::string, int>& arrived) const {
  if (arrived.contains(node)) return "never connected";
  const auto reached = reached_.find(node);
  if (reached == reached_.end()) return "no contact with the node";
  return fmt::format("no contact with the node, which {} {}", self_.node,
                     reached->second ? "reaches" : "cannot reach");
}

// A few nodes one by one, many by the reason.
std::vector<RosterBuilder::MissingForReason> RosterBuilder::MissingByReason() const {
  const std::map<std::string, int> arrived = ArrivedByNode();
  const std::vector<MissingOnNode> nodes = MissingByNode();
  std::vector<MissingForReason> missing;
  for (const MissingOnNode& node : nodes) {
    std::string why = WhyMissing(node.node, arrived);
    auto found =
        nodes.size() > kNodesApart ? std::ranges::find(missing, why, &MissingForReason::why) : missing.end();
    if (found == missing.end()) found = missing.insert(found, {std::move(why), {}, {}, 0});
    found->nodes.push_back(node.node);
    found->ranks.insert(found->ranks.end(), node.ranks.begin(), node.ranks.end());
    found->count += node.count;
  }
  for (MissingForReason& reason : missing) std::ranges::sort(reason.ranks);
  return missing;
}

std::string RosterBuilder::Describe() const {
  std::string text = fmt::format("{}/{} ranks", here_, world_size());
  if (complete()) return text;
  const std::vector<MissingForReason> missing = MissingByReason();
  const bool by_rank = !placement_.node_of_rank.empty();
  text += "; missing ";
  if (!by_rank || missing.empty()) text += fmt::format("{} ", FormatSomeRanges(MissingRanks()));
  if (!by_rank && !missing.empty()) text += "on ";
  size_t room = kLongestNames;
  for (size_t i = 0; i < missing.size(); ++i) {
    const MissingForReason& reason = missing[i];
    const std::string names = FormatSomeNodes(reason.nodes, room / (missing.size() - i));
    room -= std::min(room, names.size());
    const std::string who = by_rank ? FormatSomeRanges(reason.ranks) : Counted(reason.count, "rank");
    text += fmt::format("{}{}: {} ({})", i == 0 ? "" : "; ", names, who, reason.why);
  }
  while (text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace muster::rendezvous
