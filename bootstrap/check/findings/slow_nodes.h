// Which nodes are slow, compared with all nodes. A node is named only if both hold. Its figure is off
//
//   round trip   more than 4 times the median of all nodes, and 0.2 ms more
//   bandwidth    less than half the median of all nodes, out or in
//
// and by more than the cube of the usual factor (half of all nodes differ from the median by at most that), so
// that a cluster of two kinds of nodes names none. A node's own figure is the median of its pairs (links.h). Fewer than three nodes give no verdict. Pure.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/check/findings/links.h"

namespace muster::check {

struct SlowNode {
  int node = 0;
  std::string why;  // "round trip 40.1 ms, the median node 45 us; out 2.1 MB/s, the median node 1.2 GB/s"

  friend bool operator==(const SlowNode&, const SlowNode&) = default;
};

// `links[i]` comes from node i; nodes without a measurement are skipped.
std::vector<SlowNode> FindSlowNodes(const std::vector<NodeLinks>& links);

}  // namespace muster::check
