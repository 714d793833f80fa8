// The number of unique ids that a communicator of NCCL needs, and the ranks that draw them. At scale,
// start-up waits for one rank that greets all other ranks; above 128 ranks several share the work.
//
// Protocol source: ncclCommInitRankScalable in NCCL 2.23 (bootstrap.cc): with n ids for N ranks, the first
// N % n of n consecutive blocks have one rank more than the others; the ranks of a block meet at its id.
#pragma once

#include <vector>

namespace muster::nccl {

inline constexpr int kRanksPerNcclId = 128;

// owners[i] is the rank that draws id i: the first of its block, so that the ids' listeners are spread as
// NCCL's own blocks are. One owner, rank 0, up to 128 ranks and if the library takes only one id.
std::vector<int> NcclIdOwners(int size, bool scalable);

}  // namespace muster::nccl
