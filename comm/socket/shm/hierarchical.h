// Operations over several nodes whose ranks share memory inside each: up in memory, messages between nodes,
// down in memory. A node with one rank has no memory (null) and only sends messages.
//
// All BLOCK as ProgressEngine::Run. `type` of a Reduction is a WorkType.
#pragma once

#include <cstdint>
#include <span>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/algorithms/tree_collectives.h"
#include "comm/socket/engine/progress_engine.h"
#include "comm/socket/shm/node_memory.h"

namespace muster::socket {

// One communicator's means.
struct Hierarchy {
  ProgressEngine& engine;
  const Topology& topology;
  NodeMemory* memory;
};

// For short data: up to each node's first rank, recursive doubling among these, down again.
Status TreeAllReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                     std::span<uint8_t> receive);

// For long data. k is the number of ranks on the smallest node. The first k ranks of each node each reduce a
// share of the data inside the node, then with their counterparts on the other nodes. They do so at the same
// time: several streams fill a cable that one does not.
Status StreamsAllReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                        std::span<uint8_t> receive);

// `receive` is used on the root alone.
Status HierarchicalReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                          std::span<uint8_t> receive, int root);
Status HierarchicalBroadcast(const Hierarchy& hierarchy, std::span<uint8_t> data, int root);

}  // namespace muster::socket
