// How many unique ids a communicator of NCCL needs, and who draws which. One rank that greets all others is
// what start-up waits for at scale; above 128 ranks several share the work.
//
// Protocol source: ncclCommInitRankScalable in NCCL 2.23 (bootstrap.cc): with n ids for N ranks, the first
// N % n of n consecutive blocks have one rank more than the others; the ranks of a block meet at its id.
#pragma once

#include <vector>

namespace muster::nccl {

inline constexpr int kRanksPerNcclId = 128;

// owners[i] is the rank that draws id i: the first of its block, so that the ids' listeners are spread as
// NCCL's own blocks are. One owner, rank 0, up to 128 ranks and where the library takes only one id.
std::vector<int> NcclIdOwners(int size, bool scalable);

}  // namespace muster::nccl
