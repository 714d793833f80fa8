#include "comm/roster.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "comm/base/lists.h"

namespace muster {
namespace {

// As in the line of a group that is forming.
constexpr size_t kNodesNamed = 16;
constexpr size_t kNodesNamedBriefly = 4;

// Ascending, without those outside the roster.
std::map<int, std::vector<int>> ByNode(const Roster& roster, std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::map<int, std::vector<int>> by_node;
  for (const int rank : ranks) {
    if (rank >= 0 && rank < roster.size()) by_node[roster.NodeOf(rank)].push_back(rank);
  }
  return by_node;
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
  std::string text;
  size_t named = 0;
  int other_ranks = 0;
  const auto by_node = ByNode(roster, ranks);
  for (const auto& [node, on_node] : by_node) {
    if (++named > kNodesNamed) {
      other_ranks += static_cast<int>(on_node.size());
      continue;
    }
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", FormatSomeRanges(on_node),
                        roster.nodes[static_cast<size_t>(node)].name);
  }
  if (named > kNodesNamed) {
    text += fmt::format(" and {} on {} nodes more", Counted(other_ranks, "rank"), named - kNodesNamed);
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string DescribeRanksBriefly(const Roster& roster, const std::vector<int>& ranks) {
  const auto by_node = ByNode(roster, ranks);
  if (by_node.size() > kNodesNamedBriefly) {
    return fmt::format("{} ({} nodes)", FormatRanks(ranks), by_node.size());
  }
  std::string text;
  for (const auto& [node, on_node] : by_node) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", FormatSomeRanges(on_node),
                        roster.nodes[static_cast<size_t>(node)].name);
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace muster
