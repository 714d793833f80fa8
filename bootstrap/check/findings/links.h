// The connections of one node to all other nodes. A node sends medians, not every figure: for a thousand
// nodes that is kilobytes instead of gigabytes. A slow node is slow in most of its pairs, so its median is
// too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/fields.h"
#include "comm/socket/probe/measure.h"

namespace muster::check {

struct LinkTrouble {
  int node = 0;        // of the remote node
  std::string reason;  // "10.1.0.2:40001: Connection refused"

  friend bool operator==(const LinkTrouble&, const LinkTrouble&) = default;
};

struct NodeLinks {
  std::vector<LinkTrouble> troubles;
  int32_t measured = 0;        // connections behind the medians
  socket::LinkFigures median;  // of two middle ones the better

  friend bool operator==(const NodeLinks&, const NodeLinks&) = default;
};

// Of two middle values the better: with two other nodes, one bad pair is not "most".
socket::LinkFigures MedianOf(const std::vector<socket::LinkFigures>& figures);

void Fields(auto& wire, Is<LinkTrouble> auto& trouble) { wire(trouble.node, trouble.reason); }

void Fields(auto& wire, Is<NodeLinks> auto& links) {
  auto& median = links.median;
  wire(links.troubles, links.measured, median.round_trip_ns, median.clock_ahead_ns, median.out_bytes_per_s,
       median.in_bytes_per_s);
}

// `what` is for the error. A node outside 0..nodes-1 is malformed.
Result<NodeLinks> DecodeNodeLinks(ByteView bytes, int nodes, std::string_view what);

}  // namespace muster::check
