#include "comm/socket/shm/copy.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

// Blocks of a buffer with one for each rank, by the ranks' places in the node's team.
template <typename Byte>
class Blocks {
 public:
  Blocks(const NodeMemory& memory, std::span<Byte> all)
      : memory_(memory), all_(all), block_(all.size() / static_cast<size_t>(memory.ranks())) {}

  std::span<Byte> Of(int index) const {
    return all_.subspan(static_cast<size_t>(memory_.RankAt(index)) * block_, block_);
  }

 private:
  const NodeMemory& memory_;
  const std::span<Byte> all_;
  const size_t block_;
};

// All other ranks, beginning with the next one: so ranks do not all read the same memory at the same time.
template <typename Body>
void ForOthers(const NodeMemory& memory, Body body) {
  for (int i = 1; i < memory.ranks(); ++i) body((memory.index() + i) % memory.ranks());
}

// A rank's slot has its pieces for the other ranks in rank order.
size_t PlaceOf(int index, int owner) { return static_cast<size_t>(index < owner ? index : index - 1); }

Status PublishPiece(NodeMemory& memory, ByteView piece) {
  MUSTER_CHECK(memory.Claim());
  if (piece.size() <= kInlineBytes) {
    memory.Publish(piece);
    return {};
  }
  CopyBytes(memory.NextSlot(), piece.data(), piece.size(), false);
  memory.Publish();
  return {};
}

void TakePiece(const NodeMemory& memory, int index, std::span<uint8_t> piece, bool uncached) {
  const uint8_t* from = piece.size() <= kInlineBytes ? memory.Inlined(index) : memory.Slot(index);
  CopyBytes(piece.data(), from, piece.size(), uncached);
}

}  // namespace

Status SharedBroadcast(NodeMemory& memory, std::span<uint8_t> data, int root) {
  const size_t width = memory.slot_bytes();
  const bool uncached = data.size() >= kUncachedBytes;
  size_t at = 0;
  do {
    const std::span<uint8_t> piece = Within(data, at, width);
    if (memory.index() == root) {
      MUSTER_CHECK(PublishPiece(memory, piece));
    } else {
      memory.Publish();
      MUSTER_CHECK(memory.AwaitOne(root));
      TakePiece(memory, root, piece, uncached);
    }
    at += width;
  } while (at < data.size());
  return {};
}

Status SharedGather(NodeMemory& memory, ByteView mine, std::span<uint8_t> all, int root) {
  const size_t width = memory.slot_bytes();
  const bool is_root = memory.index() == root;
  const Blocks<uint8_t> blocks(memory, all);
  size_t at = 0;
  do {
    if (is_root) {
      memory.Publish();
      MUSTER_CHECK(memory.AwaitAll());
      ForOthers(memory,
                [&](int peer) { TakePiece(memory, peer, Within(blocks.Of(peer), at, width), false); });
    } else {
      MUSTER_CHECK(PublishPiece(memory, Within(mine, at, width)));
    }
    at += width;
  } while (at < mine.size());
  if (is_root) CopyBlock(mine, blocks.Of(root));
  return {};
}

Status SharedAllGather(NodeMemory& memory, ByteView mine, std::span<uint8_t> all) {
  const size_t width = memory.slot_bytes();
  const bool uncached = all.size() >= kUncachedBytes;
  const Blocks<uint8_t> blocks(memory, all);
  size_t at = 0;
  do {
    MUSTER_CHECK(PublishPiece(memory, Within(mine, at, width)));
    MUSTER_CHECK(memory.AwaitAll());
    ForOthers(memory,
              [&](int peer) { TakePiece(memory, peer, Within(blocks.Of(peer), at, width), uncached); });
    at += width;
  } while (at < mine.size());
  CopyBlock(mine, blocks.Of(memory.index()));
  return {};
}

Status SharedScatter(NodeMemory& memory, ByteView all, std::span<uint8_t> mine, int root) {
  const size_t width = PieceBytes(memory.slot_bytes(), memory.ranks() - 1);
  const bool is_root = memory.index() == root;
  const Blocks<const uint8_t> blocks(memory, all);
  size_t at = 0;
  do {
    if (is_root) {
      MUSTER_CHECK(memory.Claim());
      ForOthers(memory, [&](int peer) {
        const ByteView piece = Within(blocks.Of(peer), at, width);
        CopyBytes(memory.NextSlot() + PlaceOf(peer, root) * width, piece.data(), piece.size(), false);
      });
      memory.Publish();
    } else {
      memory.Publish();
      MUSTER_CHECK(memory.AwaitOne(root));
      const std::span<uint8_t> piece = Within(mine, at, width);
      CopyBytes(piece.data(), memory.Slot(root) + PlaceOf(memory.index(), root) * width, piece.size(), false);
    }
    at += width;
  } while (at < mine.size());
  if (is_root) CopyBlock(blocks.Of(root), mine);
  return {};
}

Status SharedAllToAll(NodeMemory& memory, ByteView send, std::span<uint8_t> receive) {
  const size_t width = PieceBytes(memory.slot_bytes(), memory.ranks() - 1);
  const Blocks<const uint8_t> outgoing(memory, send);
  const Blocks<uint8_t> incoming(memory, receive);
  const size_t block = incoming.Of(memory.index()).size();
  size_t at = 0;
  do {
    MUSTER_CHECK(memory.Claim());
    ForOthers(memory, [&](int peer) {
      const ByteView piece = Within(outgoing.Of(peer), at, width);
      CopyBytes(memory.NextSlot() + PlaceOf(peer, memory.index()) * width, piece.data(), piece.size(), false);
    });
    memory.Publish();
    MUSTER_CHECK(memory.AwaitAll());
    // In place, the data overwritten here has been copied out above.
    ForOthers(memory, [&](int peer) {
      const std::span<uint8_t> piece = Within(incoming.Of(peer), at, width);
      CopyBytes(piece.data(), memory.Slot(peer) + PlaceOf(memory.index(), peer) * width, piece.size(), false);
    });
    at += width;
  } while (at < block);
  CopyBlock(outgoing.Of(memory.index()), incoming.Of(memory.index()));
  return {};
}

}  // namespace muster::socket
