// One supervisor that represents several ranks of its node: `run --nproc-per-node`, `launch`.
#pragma once

#include <limits>

#include "comm/rendezvous/join/join_request.h"

namespace muster::join {

// Every node has as many ranks: consecutive ones, in the order of the nodes.
struct RankBlock {
  int node = 0;
  int nodes = 1;
  int ranks = 1;  // of each node

  int first_rank() const { return node * ranks; }
  int world_size() const { return nodes * ranks; }

  // Whether an int holds the number of all ranks; else kTooMany is the hint.
  static bool Fits(int nodes, int ranks) { return nodes <= std::numeric_limits<int>::max() / ranks; }
  static constexpr const char* kTooMany = "pass less: a group has at most 2147483647 ranks";
};

// `request` is that of rank `node` in a world of `nodes`, one process each; it becomes that of its block in a
// world of nodes * ranks. Its payload stays with the block's first rank. A node with another number of ranks
// is then a disagreement about the size of the world.
void ExpandToBlock(const RankBlock& block, rendezvous::JoinRequest& request);

}  // namespace muster::join
