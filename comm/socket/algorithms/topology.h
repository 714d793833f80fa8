// The places of ranks, for the collective algorithms: the ranks of each node, and trees over all ranks that
// cross between nodes as little as possible. Pure values, the same on every rank for the same arguments.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/roster.h"

namespace muster::socket {

// Some ranks in an agreed order, and this rank's position.
struct Team {
  std::vector<int> ranks;
  int index = -1;  // -1: this rank is not in it

  int size() const { return static_cast<int>(ranks.size()); }
  int at(int i) const { return ranks[static_cast<size_t>(i)]; }
};

class Topology {
 public:
  Topology(const Roster& roster, int rank);

  int rank() const { return everyone_.at(everyone_.index); }
  int size() const { return everyone_.size(); }
  const std::vector<std::vector<int>>& nodes() const { return nodes_; }  // ranks of each node, by local rank
  int node_of(int rank) const { return node_of_[static_cast<size_t>(rank)]; }
  bool single_node() const { return nodes_.size() == 1; }
  bool one_rank_per_node() const { return nodes_.size() == node_of_.size(); }

  const Team& everyone() const {
    return everyone_;
  }  // node by node, so that a ring enters and leaves each node once
  const Team& leaders() const { return leaders_; }  // the first rank of each node
  const Team& local() const { return local_; }      // this rank's node, its leader first

 private:
  std::vector<std::vector<int>> nodes_;
  std::vector<int> node_of_;
  Team everyone_;
  Team leaders_;
  Team local_;
};

// The shape of a tree over n positions; the first is the root.
enum class Shape {
  kFlat,      // all below the first: fewest steps, n-1 messages at the root
  kBinomial,  // log2 n steps
  kChain,     // each below the one before: for long, pipelined data
};

struct TreeShape {
  Shape nodes = Shape::kBinomial;
  Shape local = Shape::kFlat;
};

// One child and its subtree: positions [begin, end) of TreeOrder.
struct Branch {
  int rank = 0;
  size_t begin = 0;
  size_t end = 0;
};

// This rank's place in a tree over all ranks: nodes first, then the ranks inside each node below the node's
// representative (the root on its own node, else the first rank).
struct Tree {
  int parent = -1;  // -1: the root
  std::vector<Branch>
      children;      // other nodes first and the largest first, so that the longest path starts earliest
  size_t begin = 0;  // this rank's position and its subtree: [begin, end)
  size_t end = 0;
};

Tree MakeTree(const Topology& topology, int root, TreeShape shape);
// The rank at each position of that tree; the same for every shape.
std::vector<int> TreeOrder(const Topology& topology, int root);
// A tree over a team with the first member as the root; positions are indexes into it.
Tree MakeTeamTree(const Team& team, Shape shape);

}  // namespace muster::socket
