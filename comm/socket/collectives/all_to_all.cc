// AllToAll: short blocks travel together (Bruck et al., "Efficient Algorithms for All-to-All Communications
// in Multiport Message-Passing Systems", 1997: log2 n messages for each rank), long ones go straight to their
// rank.
#include <cstring>
#include <memory>

#include "comm/socket/collectives/collectives.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

// Number of partners at a time: enough to keep the kernel busy, few enough for its buffers.
constexpr int kPartners = 8;

class Blocks {
 public:
  Blocks(const Collective& collective, ByteView send, std::span<uint8_t> receive)
      : collective_(collective),
        rank_(collective.rank()),
        size_(collective.size()),
        block_(receive.size() / static_cast<size_t>(size_)),
        send_(send),
        receive_(receive) {}

  Status Pairwise() {
    Copy(Outgoing(rank_).data(), Incoming(rank_).data());
    for (int step = 1; step < size_; ++step) {
      collective_.engine.Send((rank_ + step) % size_, Outgoing((rank_ + step) % size_));
      collective_.engine.Receive((rank_ - step + size_) % size_, Incoming((rank_ - step + size_) % size_));
      if (step % kPartners == 0) MUSTER_CHECK(collective_.engine.Run());
    }
    return collective_.engine.Run();
  }

  // Block i of `moving` is on its way to the rank i further on; at each step those with the step's bit in i
  // go that far.
  Status Bruck() {
    const auto moving = NewBlocks();
    const auto outgoing = NewBlocks();
    const auto incoming = NewBlocks();
    for (int i = 0; i < size_; ++i) Copy(Outgoing((rank_ + i) % size_).data(), At(moving, i));
    for (int step = 1; step < size_; step *= 2) {
      int packed = 0;
      for (int i = step; i < size_; ++i) {
        if ((i & step) != 0) Copy(At(moving, i), At(outgoing, packed++));
      }
      const size_t bytes = static_cast<size_t>(packed) * block_;
      collective_.engine.Send((rank_ + step) % size_, {outgoing.get(), bytes});
      collective_.engine.Receive((rank_ - step + size_) % size_, {incoming.get(), bytes});
      MUSTER_CHECK(collective_.engine.Run());
      int unpacked = 0;
      for (int i = step; i < size_; ++i) {
        if ((i & step) != 0) Copy(At(incoming, unpacked++), At(moving, i));
      }
    }
    for (int i = 0; i < size_; ++i) Copy(At(moving, i), Incoming((rank_ - i + size_) % size_).data());
    return {};
  }

 private:
  using Storage = std::unique_ptr<uint8_t[]>;

  Storage NewBlocks() const {
    return std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(size_) * block_);
  }
  uint8_t* At(const Storage& storage, int i) const { return storage.get() + static_cast<size_t>(i) * block_; }
  ByteView Outgoing(int rank) const { return send_.subspan(static_cast<size_t>(rank) * block_, block_); }
  std::span<uint8_t> Incoming(int rank) const {
    return receive_.subspan(static_cast<size_t>(rank) * block_, block_);
  }
  void Copy(const uint8_t* from, uint8_t* to) const {
    if (block_ > 0 && from != to) std::memmove(to, from, block_);
  }

  const Collective& collective_;
  const int rank_;
  const int size_;
  const size_t block_;
  const ByteView send_;
  const std::span<uint8_t> receive_;
};

}  // namespace

Status RunAllToAll(const Collective& collective, ByteView send, std::span<uint8_t> receive) {
  const size_t block = receive.size() / static_cast<size_t>(collective.size());
  const Algorithm algorithm = collective.Choose(Operation::kAllToAll, block);
  if (algorithm == Algorithm::kSharedMemory) return SharedAllToAll(*collective.memory, send, receive);
  if (algorithm == Algorithm::kBruck) return Blocks(collective, send, receive).Bruck();
  // Arriving data would overwrite unsent data.
  Bytes copy;
  if (send.data() == receive.data()) copy.assign(send.begin(), send.end());
  return Blocks(collective, copy.empty() ? send : ByteView(copy), receive).Pairwise();
}

}  // namespace muster::socket
