#include "comm/socket/split.h"

#include <algorithm>

namespace muster::socket {
namespace {

// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014): SplitMix64's finaliser.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// 64 well-mixed bits: two communicators of one group would need the same number to meet, and every message
// also carries the call.
uint64_t SubgroupId(uint64_t parent, uint64_t sequence, int color) {
  return Mix(Mix(Mix(parent) + sequence) + static_cast<uint64_t>(color) + 1);
}

}  // namespace

std::optional<Members> FormSubgroup(const Members& parent, const std::vector<SplitChoice>& choices,
                                    uint64_t sequence) {
  const int color = choices[static_cast<size_t>(parent.rank)].color;
  if (color < 0) return std::nullopt;
  std::vector<int> ranks;
  for (size_t rank = 0; rank < choices.size(); ++rank) {
    if (choices[rank].color == color) ranks.push_back(static_cast<int>(rank));
  }
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return choices[static_cast<size_t>(rank)].key; });
  Members members;
  members.communicator = SubgroupId(parent.communicator, sequence, color);
  members.rank = static_cast<int>(std::ranges::find(ranks, parent.rank) - ranks.begin());
  members.roster = std::make_shared<const Roster>(SelectRanks(*parent.roster, ranks));
  for (const int rank : ranks) members.world_ranks.push_back(parent.world_ranks[static_cast<size_t>(rank)]);
  return members;
}

Roster SelectRanks(const Roster& roster, const std::vector<int>& ranks) {
  Roster selected;
  selected.group_id = roster.group_id;
  std::vector<int> new_node(roster.nodes.size(), -1);
  std::vector<int> local_size;
  for (const int rank : ranks) {
    Roster::Member member = roster.members[static_cast<size_t>(rank)];
    int& node = new_node[static_cast<size_t>(member.node)];
    if (node < 0) {
      node = static_cast<int>(selected.nodes.size());
      selected.nodes.push_back(roster.nodes[static_cast<size_t>(member.node)]);
      local_size.push_back(0);
    }
    member.node = node;
    member.local_rank = local_size[static_cast<size_t>(node)]++;
    selected.members.push_back(std::move(member));
  }
  return selected;
}

}  // namespace muster::socket
