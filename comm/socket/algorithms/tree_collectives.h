// Operations along a tree (topology.h): one rank's work for its parent and its children.
//
// Long data is passed on as it arrives, in segments if it is combined. The order of every reduction is fixed
// by the tree: a rank's own elements, then its children's in their order.
//
// All BLOCK as ProgressEngine::Run does. Buffers are the caller's. Sources: binomial trees and pipelining
// after Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/data_type.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/engine/progress_engine.h"

namespace muster::socket {

struct Reduction {
  DataType type = DataType::kU8;  // a WorkType
  ReduceOp operation = ReduceOp::kSum;
};

// `data` from the root to all ranks.
Status TreeBroadcast(ProgressEngine& engine, const Tree& tree, std::span<uint8_t> data);

// The `mine` of all ranks, combined into `result` on the root; elsewhere `result` is not used. May be the
// same memory.
Status TreeReduce(ProgressEngine& engine, const Tree& tree, Reduction reduction, ByteView mine,
                  std::span<uint8_t> result);

// One block of `mine.size()` bytes from each rank, in tree order; `all` has room for this rank's part of the
// tree, [tree.begin, tree.end), and is complete on the root.
Status TreeGather(ProgressEngine& engine, const Tree& tree, ByteView mine, std::span<uint8_t> all);

// The reverse: the root's `all` has the blocks of all ranks in tree order; elsewhere `all` has room for this
// rank's part. The first block of it is this rank's own.
Status TreeScatter(ProgressEngine& engine, const Tree& tree, size_t block, std::span<uint8_t> all);

// Bytes of any length: on the root one entry for each rank, by rank; elsewhere empty. `rank` is this rank's
// number.
Result<std::vector<Bytes>> TreeGatherBytes(ProgressEngine& engine, const Tree& tree, int rank, ByteView mine);

// The root's `data`, of any length, to all ranks.
Status TreeBroadcastBytes(ProgressEngine& engine, const Tree& tree, Bytes& data);

}  // namespace muster::socket
