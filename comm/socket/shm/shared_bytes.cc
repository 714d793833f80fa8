// All ranks publish their length first; then each can compute the number of pieces.
#include <array>
#include <cstring>

#include "comm/socket/engine/peer_stream.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

Result<std::vector<uint64_t>> ExchangeLengths(NodeMemory& memory, uint64_t mine) {
  std::array<uint8_t, sizeof mine> bytes{};
  std::memcpy(bytes.data(), &mine, sizeof mine);
  MUSTER_CHECK(memory.Claim());
  memory.Publish(bytes);
  MUSTER_CHECK(memory.AwaitAll());
  std::vector<uint64_t> lengths(static_cast<size_t>(memory.ranks()));
  for (int i = 0; i < memory.ranks(); ++i) {
    std::memcpy(&lengths[static_cast<size_t>(i)], memory.Inlined(i), sizeof mine);
  }
  lengths[static_cast<size_t>(memory.index())] = mine;
  return lengths;
}

// `index`: whose bytes they are.
Status Allocate(const NodeMemory& memory, int index, Bytes& bytes, uint64_t length) {
  if (TryResize(bytes, length)) return {};
  return memory.engine().failures().NoMemory(memory.RankAt(index), length);
}

Status MovePieces(NodeMemory& memory, ByteView mine, const std::vector<uint64_t>& lengths, bool reads,
                  std::vector<Bytes>& by_rank) {
  const size_t width = memory.slot_bytes();
  const uint64_t longest = *std::ranges::max_element(lengths);
  for (uint64_t at = 0; at < longest; at += width) {
    MUSTER_CHECK(memory.Claim());
    const ByteView piece = Within(mine, at, width);
    std::copy(piece.begin(), piece.end(), memory.NextSlot());
    memory.Publish();
    if (!reads) continue;
    MUSTER_CHECK(memory.AwaitAll());
    for (int i = 0; i < memory.ranks(); ++i) {
      if (i == memory.index()) continue;
      Bytes& theirs = by_rank[static_cast<size_t>(memory.RankAt(i))];
      const std::span<uint8_t> into = Within(std::span<uint8_t>(theirs), at, width);
      if (!into.empty()) std::memcpy(into.data(), memory.Slot(i), into.size());
    }
  }
  return {};
}

Result<std::vector<Bytes>> Gather(NodeMemory& memory, ByteView mine, bool reads) {
  MUSTER_TRY(const std::vector<uint64_t> lengths, ExchangeLengths(memory, mine.size()));
  std::vector<Bytes> by_rank;
  if (reads) {
    by_rank.resize(lengths.size());
    for (int i = 0; i < memory.ranks(); ++i) {
      Bytes& theirs = by_rank[static_cast<size_t>(memory.RankAt(i))];
      if (i == memory.index()) {
        theirs.assign(mine.begin(), mine.end());
      } else {
        MUSTER_CHECK(Allocate(memory, i, theirs, lengths[static_cast<size_t>(i)]));
      }
    }
  }
  MUSTER_CHECK(MovePieces(memory, mine, lengths, reads, by_rank));
  return by_rank;
}

}  // namespace

Result<std::vector<Bytes>> SharedGatherBytes(NodeMemory& memory, ByteView mine, int root) {
  return Gather(memory, mine, memory.index() == root);
}

Result<std::vector<Bytes>> SharedAllGatherBytes(NodeMemory& memory, ByteView mine) {
  return Gather(memory, mine, true);
}

Result<Bytes> SharedBroadcastBytes(NodeMemory& memory, ByteView mine, int root) {
  const bool is_root = memory.index() == root;
  Bytes data;
  if (is_root) data.assign(mine.begin(), mine.end());
  uint64_t length = data.size();
  std::array<uint8_t, sizeof length> wire{};
  std::memcpy(wire.data(), &length, sizeof length);
  MUSTER_CHECK(SharedBroadcast(memory, wire, root));
  std::memcpy(&length, wire.data(), sizeof length);
  if (!is_root) MUSTER_CHECK(Allocate(memory, root, data, length));
  if (length > 0) MUSTER_CHECK(SharedBroadcast(memory, data, root));
  return data;
}

}  // namespace muster::socket
