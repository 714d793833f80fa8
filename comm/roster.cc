#include "comm/roster.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "comm/base/lists.h"

namespace muster {
namespace {

// As in the line of a group that is forming.
constexpr size_t kNodesNamed = 16;
constexpr size_t kNodesNamedBriefly = 4;

// Ascending, without those outside the roster.
using RanksByNode = std::map<int, std::vector<int>>;

RanksByNode ByNode(const Roster& roster, std::vector<int> ranks) {
  std::ranges::sort(ranks);
  RanksByNode by_node;
  for (const int rank : ranks) {
    if (rank >= 0 && rank < roster.size()) by_node[roster.NodeOf(rank)].push_back(rank);
  }
  return by_node;
}

// Those of the first kNodesNamed nodes. `open` and `close` are around the name of a node.
std::string ListByNode(const Roster& roster, size_t ranks, const RanksByNode& by_node, std::string_view open,
                       std::string_view close) {
  std::string text;
  for (const auto& [node, on_node] : by_node | std::views::take(kNodesNamed)) {
    text += fmt::format("{}{}{}{}{}", text.empty() ? "" : ", ", FormatSomeRanges(on_node), open,
                        roster.nodes[static_cast<size_t>(node)].name, close);
  }
  return (ranks == 1 ? "rank " : "ranks ") + text;
}

std::vector<int> RanksOfNode(const Roster& roster, int node) {
  if (const RosterSource* source = roster.members.source()) return source->RanksOn(node);
  std::vector<int> ranks;
  for (int rank = 0; rank < roster.size(); ++rank) {
    if (roster.NodeOf(rank) == node) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::vector<int> Roster::RanksOn(int node) const {
  std::vector<int> ranks = RanksOfNode(*this, node);
  std::ranges::sort(ranks, {}, [this](int rank) { return members[static_cast<size_t>(rank)].local_rank; });
  return ranks;
}

Roster::Places Roster::PlacesOfAll() const {
  if (const RosterSource* source = members.source()) return source->PlacesOfAll();
  Places places;
  for (const Member& member : members) {
    places.nodes.push_back(member.node);
    places.local_ranks.push_back(member.local_rank);
  }
  return places;
}

ByteView Roster::PayloadOf(int rank) const {
  const auto index = static_cast<size_t>(rank);
  if (const RosterSource* source = members.source()) return source->PayloadOf(index);
  return members[index].payload.view();
}

void Roster::ForEachPayload(const std::function<void(int rank, ByteView payload)>& call) const {
  if (const RosterSource* source = members.source()) return source->ForEachPayload(call);
  for (int rank = 0; rank < size(); ++rank) call(rank, PayloadOf(rank));
}

bool Roster::OfOneProcess(int a, int b) const {
  const Member& one = members[static_cast<size_t>(a)];
  const Member& other = members[static_cast<size_t>(b)];
  if (one.process >= 0 && other.process >= 0) return one.process == other.process;
  return one.node == other.node && one.pid == other.pid;
}

int Roster::LocalSize(int node) const { return static_cast<int>(RanksOfNode(*this, node).size()); }

std::string DescribeRank(const Roster& roster, int rank) {
  if (rank < 0 || rank >= roster.size()) return DescribeRank(rank, "");
  return DescribeRank(rank, roster.NodeName(rank));
}

std::string DescribeRanks(const Roster& roster, const std::vector<int>& ranks) {
  const RanksByNode by_node = ByNode(roster, ranks);
  std::string text = ListByNode(roster, ranks.size(), by_node, " on ", "");
  if (by_node.size() > kNodesNamed) {
    size_t others = 0;
    for (const auto& [node, on_node] : by_node | std::views::drop(kNodesNamed)) others += on_node.size();
    text += fmt::format(" and {} on {} nodes more", Counted(static_cast<int>(others), "rank"),
                        by_node.size() - kNodesNamed);
  }
  return text;
}

std::string DescribeRanksBriefly(const Roster& roster, const std::vector<int>& ranks) {
  const RanksByNode by_node = ByNode(roster, ranks);
  return by_node.size() > kNodesNamedBriefly
             ? fmt::format("{} ({} nodes)", FormatRanks(ranks), by_node.size())
             : ListByNode(roster, ranks.size(), by_node, " (", ")");
}

}  // namespace muster
