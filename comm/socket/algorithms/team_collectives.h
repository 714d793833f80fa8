// Operations among the equal members of a team (topology.h); each BLOCKS as ProgressEngine::Run does. The
// order of every reduction depends only on the team and the lengths. Every rank computes an element from the
// same operands in the same order. So all ranks get the same bits in every run.
//
// Sources: recursive doubling, Rabenseifner's algorithm and pairwise exchange after Thakur, Rabenseifner,
// Gropp (2005); the ring after Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
// Workstations" (2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/algorithms/tree_collectives.h"
#include "comm/socket/engine/progress_engine.h"

namespace muster::socket {

// All reduce `data` in place. log2 n steps with all of it: for short data.
Status RecursiveDoublingAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction,
                                  std::span<uint8_t> data);

// The same in 2 log2 n steps with halves, quarters, ...: for medium data.
Status RabenseifnerAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction,
                             std::span<uint8_t> data);

// From `send` into `receive` (of the same length, may be the same memory) in 2(n-1) steps with an n-th each:
// for long data.
Status RingAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction, ByteView send,
                     std::span<uint8_t> receive);

// `send` has a block for each rank, by rank; `receive` gets this rank's. n-1 steps.
Status RingReduceScatter(ProgressEngine& engine, const Team& team, Reduction reduction, ByteView send,
                         std::span<uint8_t> receive);

// `all` has a block for each rank, by rank, and this rank's is in its place. n-1 steps.
Status RingAllGather(ProgressEngine& engine, const Team& team, std::span<uint8_t> all, size_t block);

}  // namespace muster::socket
