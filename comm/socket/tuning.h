// Where one algorithm gives way to another. Measured on loopback and Unix sockets (README.md); all ranks must
// use the same.
#pragma once

#include <cstddef>

namespace muster {

// Up to here a message costs its latency: fewest steps win.
inline constexpr size_t kShortBytes = size_t{16} * 1024;
// From here on, for each rank, a ring's bandwidth beats its number of steps.
inline constexpr size_t kRingBytesPerRank = size_t{16} * 1024;
// The same for blocks that are gathered or scattered anyway.
inline constexpr size_t kRingBlockBytes = size_t{4} * 1024;
// From here on, for each rank, a pipelined chain beats a tree.
inline constexpr size_t kChainBytesPerRank = size_t{256} * 1024;
// So few ranks on one node exchange among themselves instead of through their first.
inline constexpr int kFlatRanks = 4;
// Up to here AllToAll forwards blocks (Bruck) instead of sending each to its destination.
inline constexpr size_t kBruckBlockBytes = 1024;
// More ranks than this do not each connect to all others: descriptors run out (1024 is a common limit).
inline constexpr int kMaxPairwiseRanks = 512;
// More nodes than this do not all connect to the root.
inline constexpr size_t kMaxFlatNodes = 128;

}  // namespace muster
