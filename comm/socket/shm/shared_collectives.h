// The collective operations among the ranks of one node, through their shared memory (node_memory.h).
//
// Long data goes in pieces that fit into a slot. Memory traffic is the cost of a long operation, so every
// byte is copied in once and out once, and one rank reduces it in the cache. The order of every reduction is
// that of the ranks, at any length; all ranks get the same bits in every run.
//
// All BLOCK as ProgressEngine::Await. Buffers are the caller's. Peers and roots are places in NodeMemory's
// team. Sources: Graham and Shipman, "MPI Support for Multi-core Architectures: Optimized Shared Memory
// Collectives" (2008); Li, Hoefler, Snir, "NUMA-aware Shared-memory Collective Communication for MPI" (2013).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/data_type.h"
#include "comm/socket/reduce/reduce_kernels.h"
#include "comm/socket/shm/node_memory.h"
#include "comm/socket/shm/segment.h"

namespace muster::socket {

// A reduction as the shared memory runs it: on the callers' elements, part by part, while they are in the
// cache; widened, combined, divided and rounded in one go (CombineAll of reduce_kernels.h).
struct Arithmetic {
  DataType type = DataType::kU8;  // any, also f16 and bf16
  ReduceOp operation = ReduceOp::kSum;
  int average_of = 1;  // kAvg: the sum is divided by this number of ranks; 1: it stays a sum

  // out = parts[0] op parts[1] op ..., from left to right; `out` overlaps none of them.
  void Apply(uint8_t* out, std::span<const void* const> parts, size_t bytes) const {
    const int divisor = operation == ReduceOp::kAvg ? average_of : 1;
    CombineAll(type, operation, out, parts, bytes / SizeOf(type), divisor);
  }
};

// The largest piece of which `parts` fit into a slot; whole cache lines, so that no element is cut.
inline size_t PieceBytes(size_t slot_bytes, int parts) {
  return slot_bytes / static_cast<size_t>(std::max(parts, 1)) / kCacheLine * kCacheLine;
}

// [offset, offset + width) as far as it is inside.
template <typename Byte>
std::span<Byte> Within(std::span<Byte> data, size_t offset, size_t width) {
  const size_t begin = std::min(offset, data.size());
  return data.subspan(begin, std::min(width, data.size() - begin));
}

// Nothing if both are the same place, or empty. `to` has the room.
inline void CopyBlock(ByteView from, std::span<uint8_t> to) {
  if (!from.empty() && from.data() != to.data()) std::memmove(to.data(), from.data(), from.size());
}

// shared_reductions.cc. AllReduce of nothing is a Barrier. `receive` may be `send`, except in ReduceScatter.
Status SharedAllReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                       std::span<uint8_t> receive);
// `receive` is used on the root alone.
Status SharedReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                    std::span<uint8_t> receive, int root);
// `send` has a block for each rank.
Status SharedReduceScatter(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                           std::span<uint8_t> receive);

// shared_movement.cc. Arguments that only the root uses are empty elsewhere.
Status SharedBroadcast(NodeMemory& memory, std::span<uint8_t> data, int root);
Status SharedGather(NodeMemory& memory, ByteView mine, std::span<uint8_t> all, int root);
Status SharedAllGather(NodeMemory& memory, ByteView mine, std::span<uint8_t> all);
Status SharedScatter(NodeMemory& memory, ByteView all, std::span<uint8_t> mine, int root);
// `receive` may be `send`.
Status SharedAllToAll(NodeMemory& memory, ByteView send, std::span<uint8_t> receive);

// shared_bytes.cc. Lengths differ by rank.
Result<std::vector<Bytes>> SharedGatherBytes(NodeMemory& memory, ByteView mine, int root);
Result<std::vector<Bytes>> SharedAllGatherBytes(NodeMemory& memory, ByteView mine);
Result<Bytes> SharedBroadcastBytes(NodeMemory& memory, ByteView mine, int root);

}  // namespace muster::socket
