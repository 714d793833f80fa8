#include "comm/roster.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {

std::vector<int> Roster::RanksOn(int node) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    if (NodeOf(rank) == node) ranks.push_back(rank);
  }
  std::ranges::sort(ranks, {}, [this](int rank) { return members[static_cast<size_t>(rank)].local_rank; });
  return ranks;
}

int Roster::LocalSize(int node) const {
  return static_cast<int>(std::ranges::count(members, node, &Member::node));
}

std::string DescribeRank(const Roster& roster, int rank) {
  if (rank < 0 || rank >= roster.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {}", rank, roster.NodeName(rank));
}

}  // namespace muster
