// The algorithm of an operation: this is the one place that decides, from the operation, the length and the
// layout of the communicator. All ranks have the same values, so the choice is the same on all ranks.
//
// The table is in choice.cc: for each operation, the first algorithm that fits the layout and is best at that
// length. At log level debug rank 0 logs each choice once:
//   AllReduce f32[1048576] (4.0 MiB) on 16 ranks, 4 nodes: ring
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/ops/call.h"
#include "comm/socket/algorithms/topology.h"

namespace muster::socket {

// [1] Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005).
// [2] Patarasuk, Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations" (2009).
// [3] Bruck et al., "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems"
// (1997).
enum class Algorithm : uint8_t {
  kSharedMemory,                   // through the memory of the node (shm/README.md)
  kSharedMemoryTree,               // so up to one rank of each node, messages among these, and so down
  kSharedMemoryStreams,            // shares of the data, each reduced among its ranks of all nodes
  kRecursiveDoubling,              // log2 n exchanges of everything, among all ranks [1]
  kRabenseifner,                   // recursive halving, then doubling, among all ranks [1]
  kRing,                           // an n-th at a time around all ranks, node by node [1, 2]
  kHierarchicalRecursiveDoubling,  // up to each node's first rank (flat), among these, down again
  kHierarchicalRabenseifner,       // the same, binomial inside a node
  kFlat,                           // a tree: from or to the root directly
  kBinomial,                       // a tree of log2 n steps, between nodes and inside them [1]
  kBinomialFlat,                   // the same between nodes, flat inside each
  kChain,                          // a pipeline through all ranks, node by node [1]
  kReduceScatter,                  // Reduce, then Scatter
  kGatherBroadcast,                // Gather, then Broadcast
  kBruck,                          // blocks travel together in log2 n steps [3]
  kPairwise,                       // each block straight to its rank [1]
};
inline constexpr size_t kAlgorithmCount = 16;

std::string_view Name(Algorithm algorithm);  // "recursive-doubling"

// The layout of a communicator's ranks, for a choice.
struct Layout {
  int ranks = 1;
  int nodes = 1;
  bool shares_memory = false;  // the ranks of each node have memory in common

  bool single_node() const { return nodes == 1; }
  bool one_rank_per_node() const { return nodes == ranks; }

  friend bool operator==(const Layout&, const Layout&) = default;
};

Layout LayoutOf(const Topology& topology);
std::string Describe(const Layout& layout);  // "16 ranks, 4 nodes"

// The operations of the table, best algorithm for short data first.
std::vector<Algorithm> AlgorithmsOf(Operation operation);
// True if `operation` has `algorithm` and it works on `layout`, at any length.
bool Fits(Operation operation, Algorithm algorithm, const Layout& layout);
// The shape of the tree of a tree algorithm.
TreeShape ShapeOf(Algorithm algorithm);

// For tests and measurements: the algorithm of an operation at any length, also as a part of another one
// (kGatherBroadcast). The same on all ranks.
using ForcedAlgorithms = std::map<Operation, Algorithm>;

// The choices of one communicator. Threads: one at a time.
class Chooser {
 public:
  // Error: kUsage if a forced algorithm does not fit; names both.
  static Result<Chooser> Create(const Layout& layout, const ForcedAlgorithms& forced);

  // `bytes`: all of the data for Barrier, Broadcast, Reduce and AllReduce; else one rank's block, or 0 if
  // lengths differ by rank.
  Algorithm Choose(Operation operation, size_t bytes) const;

  // Once it is known whether the ranks of each node share memory.
  void SetSharesMemory(bool shares_memory) { layout_.shares_memory = shares_memory; }
  // True if the choice would differ with shared memory.
  bool WantsMemory(Operation operation, size_t bytes) const;

  // Logs once, at log level debug, that `call` uses `algorithm`.
  void Announce(const Call& call, Algorithm algorithm);

 private:
  Chooser(const Layout& layout, const ForcedAlgorithms& forced) : layout_(layout), forced_(forced) {}

  Layout layout_;
  ForcedAlgorithms forced_;
  std::bitset<kOperationCount * kAlgorithmCount> announced_;
};

}  // namespace muster::socket
