// The final table of a group: the node and place of each rank. A value, the same on every rank. Its functions take
// a rank of 0..size()-1 and an index into nodes; no other number is checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/slice.h"

namespace muster {

struct Roster {
  struct Node {
    std::string name;
    std::vector<std::string>
        addresses;  // numeric, reachable from other nodes, best first; empty on a single node

    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Member {
    int node = 0;        // index into nodes
    int local_rank = 0;  // 0..k-1 on its node
    int pid = 0;         // in its node's PID namespace
    Slice payload;       // the member's own data, opaque to the rendezvous (its data endpoint)

    friend bool operator==(const Member&, const Member&) = default;
  };

  std::string group_id;         // random, 32 hexadecimal digits; empty for a world of one
  std::vector<Node> nodes;      // index = node_rank: ordered by the lowest rank on the node
  std::vector<Member> members;  // index = rank

  int size() const { return static_cast<int>(members.size()); }
  const std::string& NodeName(int rank) const { return nodes[static_cast<size_t>(NodeOf(rank))].name; }
  int NodeOf(int rank) const { return members[static_cast<size_t>(rank)].node; }
  std::vector<int> RanksOn(int node) const;  // ascending by local rank
  int LocalSize(int node) const;

  friend bool operator==(const Roster&, const Roster&) = default;
};

// "rank 5 on gpu03": the name of a rank in every message. Safe for ranks outside the roster.
std::string DescribeRank(const Roster& roster, int rank);

// "rank 5 on gpu03", "ranks 4-7 on gpu03, 9 on gpu04": grouped by node, in the roster's order.
std::string DescribeRanks(const Roster& roster, const std::vector<int>& ranks);

// The same inside a longer sentence: "rank 5 (gpu02)", "ranks 4-7 (gpu02), 9 (gpu03)", "ranks 8-900 (125
// nodes)".
std::string DescribeRanksBriefly(const Roster& roster, const std::vector<int>& ranks);

}  // namespace muster
