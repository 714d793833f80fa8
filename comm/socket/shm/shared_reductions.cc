#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "comm/socket/shm/copy.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

// Up to here, for all ranks but one together, each rank reads everything in one step instead of its share in
// two.
constexpr size_t kDirectBytes = size_t{8} * 1024;
constexpr int kDirectRanks = 16;
// Up to here one rank does all the arithmetic, so that only one has to be woken by many.
constexpr size_t kCentralBytes = size_t{4} * 1024;
// Data up to these lengths is published whole; of two ranks each may have kDirectBytes.
static_assert(kDirectBytes <= kLeastSlotBytes && kCentralBytes <= kLeastSlotBytes);

// The operands of one part, one for each rank in order.
class Operands {
 public:
  explicit Operands(int ranks) : ranks_(static_cast<size_t>(ranks)) {}
  const void*& operator[](int index) { return parts_[static_cast<size_t>(index)]; }
  std::span<const void* const> all() const { return std::span(parts_).first(ranks_); }

 private:
  const size_t ranks_;
  std::array<const void*, kMaxSharingRanks> parts_;
};

const uint8_t* DataOf(const NodeMemory& memory, int index, size_t bytes) {
  return bytes <= kInlineBytes ? memory.Inlined(index) : memory.Slot(index);
}

void PublishData(NodeMemory& memory, ByteView data) {
  if (data.size() <= kInlineBytes) return memory.Publish(data);
  CopyBytes(memory.NextSlot(), data.data(), data.size(), false);
  memory.Publish();
}

// `own`: this rank's published data, if it has a second copy that is not overwritten too early; or null.
void ReducePublished(const NodeMemory& memory, const Arithmetic& arithmetic, uint8_t* out, size_t bytes,
                     const uint8_t* own = nullptr) {
  Operands operands(memory.ranks());
  for (int i = 0; i < memory.ranks(); ++i) operands[i] = DataOf(memory, i, bytes);
  if (own != nullptr) operands[memory.index()] = own;
  arithmetic.Apply(out, operands.all(), bytes);
}

// All ranks read all slots: one step.
Status DirectAllReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                       std::span<uint8_t> receive) {
  MUSTER_CHECK(memory.Claim());
  PublishData(memory, send);
  // Not out of this rank's own slot: the other ranks have taken its lines, and reading would wait for them.
  alignas(kCacheLine) std::array<uint8_t, kInlineBytes> copy;
  const uint8_t* own = send.data();
  if (send.data() == receive.data() && memory.index() > 0) {
    const bool fits = send.size() <= copy.size();
    if (fits) std::copy(send.begin(), send.end(), copy.begin());
    own = fits ? copy.data() : nullptr;
  }
  MUSTER_CHECK(memory.AwaitAll());
  ReducePublished(memory, arithmetic, receive.data(), send.size(), own);
  return {};
}

// The first rank reads all slots and publishes the result: two steps, and the other ranks wait once.
Status CentralAllReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                        std::span<uint8_t> receive) {
  MUSTER_CHECK(memory.Claim(2));
  PublishData(memory, send);
  if (memory.index() != 0) {
    memory.Publish();
    MUSTER_CHECK(memory.AwaitOne(0));
    memory.AllReachedPrevious();
    CopyBytes(receive.data(), DataOf(memory, 0, send.size()), send.size(), false);
    return {};
  }
  MUSTER_CHECK(memory.AwaitAll());
  ReducePublished(memory, arithmetic, receive.data(), send.size());
  PublishData(memory, receive);
  memory.Flush();
  return {};
}

// Each rank reduces its share of every chunk. A chunk is a part for each rank; in the first step a rank's
// slot has its data for all other ranks' parts, in the second its part's result.
class SharedReduction {
 public:
  SharedReduction(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send, std::span<uint8_t> receive)
      : memory_(memory),
        arithmetic_(arithmetic),
        send_(send),
        receive_(receive),
        index_(memory.index()),
        ranks_(memory.ranks()),
        uncached_(send.size() >= kUncachedBytes) {
    const size_t share = (send.size() + static_cast<size_t>(ranks_) - 1) / static_cast<size_t>(ranks_);
    part_ = std::min(PieceBytes(memory.slot_bytes(), ranks_ - 1),
                     (share + kCacheLine - 1) / kCacheLine * kCacheLine);
  }

  Status AllReduce() {
    return ForChunks([&](size_t at) -> Status {
      MUSTER_CHECK(ReduceChunk(at));
      TakePart(at, index_);
      MUSTER_CHECK(memory_.AwaitAll());
      for (int i = 1; i < ranks_; ++i) TakePart(at, (index_ + i) % ranks_);
      return {};
    });
  }

  Status Reduce(int root) {
    return ForChunks([&](size_t at) -> Status {
      MUSTER_CHECK(ReduceChunk(at));
      if (index_ != root) return {};
      MUSTER_CHECK(memory_.AwaitAll());
      for (int i = 0; i < ranks_; ++i) TakePart(at, i);
      return {};
    });
  }

 private:
  template <typename Body>
  Status ForChunks(Body body) {
    const size_t chunk = part_ * static_cast<size_t>(ranks_);
    for (size_t at = 0; at < send_.size(); at += chunk) MUSTER_CHECK(body(at));
    return {};
  }

  size_t Offset(size_t at, int part) const { return at + static_cast<size_t>(part) * part_; }
  size_t Place(int part, int owner) const {
    return static_cast<size_t>(part < owner ? part : part - 1) * part_;
  }

  Status ReduceChunk(size_t at) {
    MUSTER_CHECK(memory_.Claim());
    for (int i = 1; i < ranks_; ++i) {
      const int part = (index_ + i) % ranks_;
      const ByteView mine = Within(send_, Offset(at, part), part_);
      CopyBytes(memory_.NextSlot() + Place(part, index_), mine.data(), mine.size(), false);
    }
    memory_.Publish();
    MUSTER_CHECK(memory_.AwaitAll());
    MUSTER_CHECK(memory_.Claim());
    const ByteView mine = Within(send_, Offset(at, index_), part_);
    Operands operands(ranks_);
    for (int i = 0; i < ranks_; ++i) {
      operands[i] = i == index_ ? mine.data() : memory_.Slot(i) + Place(index_, i);
    }
    arithmetic_.Apply(memory_.NextSlot(), operands.all(), mine.size());
    memory_.Publish();
    return {};
  }

  void TakePart(size_t at, int part) {
    const std::span<uint8_t> into = Within(receive_, Offset(at, part), part_);
    CopyBytes(into.data(), memory_.Slot(part), into.size(), uncached_);
  }

  NodeMemory& memory_;
  const Arithmetic& arithmetic_;
  const ByteView send_;
  const std::span<uint8_t> receive_;
  const int index_;
  const int ranks_;
  const bool uncached_;
  size_t part_ = 0;
};

}  // namespace

Status SharedAllReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                       std::span<uint8_t> receive) {
  const size_t others = static_cast<size_t>(memory.ranks() - 1);
  const bool few = memory.ranks() <= kDirectRanks && !memory.crowded();
  if (few && send.size() * others <= kDirectBytes) {
    return DirectAllReduce(memory, arithmetic, send, receive);
  }
  if (send.size() <= kCentralBytes) return CentralAllReduce(memory, arithmetic, send, receive);
  return SharedReduction(memory, arithmetic, send, receive).AllReduce();
}

Status SharedReduce(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                    std::span<uint8_t> receive, int root) {
  if (send.size() > kCentralBytes) return SharedReduction(memory, arithmetic, send, receive).Reduce(root);
  MUSTER_CHECK(memory.Claim());
  PublishData(memory, send);
  if (memory.index() != root) return {};
  MUSTER_CHECK(memory.AwaitAll());
  ReducePublished(memory, arithmetic, receive.data(), send.size());
  return {};
}

Status SharedReduceScatter(NodeMemory& memory, const Arithmetic& arithmetic, ByteView send,
                           std::span<uint8_t> receive) {
  const size_t width = PieceBytes(memory.slot_bytes(), memory.ranks() - 1);
  const size_t block = receive.size();
  const int index = memory.index();
  const auto place = [](int part, int owner) { return static_cast<size_t>(part < owner ? part : part - 1); };
  const auto mine = [&](int part, size_t at) {
    return Within(send.subspan(static_cast<size_t>(memory.RankAt(part)) * block, block), at, width);
  };
  // The arithmetic may write only over its first operand: a result with another operand in its place is made
  // beside it.
  const bool in_place = index > 0 && block > 0 && mine(index, 0).data() == receive.data();
  const auto beside = in_place ? std::make_unique_for_overwrite<uint8_t[]>(std::min(width, block)) : nullptr;
  size_t at = 0;
  do {
    MUSTER_CHECK(memory.Claim());
    for (int i = 1; i < memory.ranks(); ++i) {
      const int part = (index + i) % memory.ranks();
      CopyBytes(memory.NextSlot() + place(part, index) * width, mine(part, at).data(), mine(part, at).size(),
                false);
    }
    memory.Publish();
    MUSTER_CHECK(memory.AwaitAll());
    Operands operands(memory.ranks());
    for (int i = 0; i < memory.ranks(); ++i) {
      operands[i] = i == index ? mine(index, at).data() : memory.Slot(i) + place(index, i) * width;
    }
    const std::span<uint8_t> into = Within(receive, at, width);
    arithmetic.Apply(in_place ? beside.get() : into.data(), operands.all(), into.size());
    if (in_place) std::memcpy(into.data(), beside.get(), into.size());
    at += width;
  } while (at < block);
  return {};
}

}  // namespace muster::socket
