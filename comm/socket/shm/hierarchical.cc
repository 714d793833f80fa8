#include "comm/socket/shm/hierarchical.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "comm/socket/algorithms/team_collectives.h"
#include "comm/socket/shm/copy.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

// Between nodes: up to here fewest steps win, and from here on, for each node, a ring does.
constexpr size_t kShortBytes = size_t{16} * 1024;
// A node passes on in its memory what has arrived while more arrives.
constexpr size_t kChainBytes = size_t{256} * 1024;
constexpr size_t kBroadcastChunk = size_t{1024} * 1024;

Status AmongNodes(ProgressEngine& engine, const Team& team, Reduction reduction, std::span<uint8_t> data) {
  if (data.size() <= kShortBytes) return RecursiveDoublingAllReduce(engine, team, reduction, data);
  if (data.size() / static_cast<size_t>(team.size()) >= kShortBytes) {
    return RingAllReduce(engine, team, reduction, data, data);
  }
  return RabenseifnerAllReduce(engine, team, reduction, data);
}

// A chain is slow to start, and passes long data on at the speed of one cable.
Shape ShapeAmong(const Team& team, size_t bytes) {
  return bytes / static_cast<size_t>(team.size()) >= kChainBytes ? Shape::kChain : Shape::kBinomial;
}

// One rank of each node, the root's first: the root itself on its node, the first rank on the other nodes.
Team Representatives(const Topology& topology, int root) {
  const int nodes = static_cast<int>(topology.nodes().size());
  Team team;
  for (int i = 0; i < nodes; ++i) {
    const int node = (topology.node_of(root) + i) % nodes;
    const int rank = i == 0 ? root : topology.nodes()[static_cast<size_t>(node)].front();
    if (rank == topology.rank()) team.index = i;
    team.ranks.push_back(rank);
  }
  return team;
}

int RepresentativeHere(const Topology& topology, int root) {
  return topology.node_of(root) == topology.node_of(topology.rank()) ? root : topology.local().at(0);
}

// Shares of the data, one for each stream, and the ranks that own them.
class Streams {
 public:
  Streams(const Hierarchy& hierarchy, Reduction reduction, ByteView send, std::span<uint8_t> receive)
      : engine_(hierarchy.engine),
        memory_(hierarchy.memory),
        reduction_(reduction),
        send_(send),
        receive_(receive),
        index_(hierarchy.topology.local().index),
        element_(SizeOf(reduction.type)),
        uncached_(send.size() >= kUncachedBytes) {
    streams_ =
        static_cast<int>(std::ranges::min(hierarchy.topology.nodes(), {}, &std::vector<int>::size).size());
    for (const std::vector<int>& ranks : hierarchy.topology.nodes()) {
      if (index_ < streams_) counterparts_.ranks.push_back(ranks[static_cast<size_t>(index_)]);
    }
    counterparts_.index = hierarchy.topology.node_of(hierarchy.topology.rank());
    if (memory_ != nullptr) width_ = PieceBytes(memory_->slot_bytes(), streams_);
  }

  Status Run() {
    if (memory_ == nullptr) {
      if (send_.data() != receive_.data()) std::memcpy(receive_.data(), send_.data(), send_.size());
    } else {
      MUSTER_CHECK(ReduceShares());
    }
    if (index_ < streams_)
      MUSTER_CHECK(AmongNodes(engine_, counterparts_, reduction_, Share(receive_, index_)));
    return memory_ == nullptr ? Status() : GatherShares();
  }

 private:
  template <typename Byte>
  std::span<Byte> Share(std::span<Byte> data, int stream) const {
    const size_t count = data.size() / element_;
    const size_t streams = static_cast<size_t>(streams_);
    const size_t begin = count * static_cast<size_t>(stream) / streams * element_;
    const size_t end = count * (static_cast<size_t>(stream) + 1) / streams * element_;
    return data.subspan(begin, end - begin);
  }
  size_t LongestShare() const {
    return (send_.size() / element_ / static_cast<size_t>(streams_) + 1) * element_;
  }

  Status ReduceShares() {
    const Arithmetic arithmetic{reduction_.type, reduction_.operation};
    std::vector<const void*> operands(static_cast<size_t>(memory_->ranks()));
    for (size_t at = 0; at < LongestShare(); at += width_) {
      MUSTER_CHECK(memory_->Claim());
      for (int stream = 0; stream < streams_; ++stream) {
        const ByteView piece = Within(Share(send_, stream), at, width_);
        CopyBytes(memory_->NextSlot() + static_cast<size_t>(stream) * width_, piece.data(), piece.size(),
                  false);
      }
      memory_->Publish();
      if (index_ >= streams_) continue;
      MUSTER_CHECK(memory_->AwaitAll());
      for (int i = 0; i < memory_->ranks(); ++i) {
        operands[static_cast<size_t>(i)] = memory_->Slot(i) + static_cast<size_t>(index_) * width_;
      }
      const std::span<uint8_t> into = Within(Share(receive_, index_), at, width_);
      arithmetic.Apply(into.data(), operands, into.size());
    }
    return {};
  }

  Status GatherShares() {
    const size_t width = memory_->slot_bytes();
    for (size_t at = 0; at < LongestShare(); at += width) {
      MUSTER_CHECK(memory_->Claim());
      if (index_ < streams_) {
        const std::span<uint8_t> piece = Within(Share(receive_, index_), at, width);
        CopyBytes(memory_->NextSlot(), piece.data(), piece.size(), false);
      }
      memory_->Publish();
      MUSTER_CHECK(memory_->AwaitAll());
      for (int stream = 0; stream < streams_; ++stream) {
        const std::span<uint8_t> into = Within(Share(receive_, stream), at, width);
        if (stream != index_) CopyBytes(into.data(), memory_->Slot(stream), into.size(), uncached_);
      }
    }
    return {};
  }

  ProgressEngine& engine_;
  NodeMemory* const memory_;
  const Reduction reduction_;
  const ByteView send_;
  const std::span<uint8_t> receive_;
  const int index_;
  const size_t element_;
  const bool uncached_;
  int streams_ = 1;
  size_t width_ = 0;
  Team counterparts_;
};

}  // namespace

Status TreeAllReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                     std::span<uint8_t> receive) {
  const Arithmetic arithmetic{reduction.type, reduction.operation};
  if (hierarchy.memory != nullptr) {
    MUSTER_CHECK(SharedReduce(*hierarchy.memory, arithmetic, send, receive, 0));
  } else if (!send.empty() && send.data() != receive.data()) {
    std::memcpy(receive.data(), send.data(), send.size());
  }
  const Team& leaders = hierarchy.topology.leaders();
  if (leaders.index >= 0) MUSTER_CHECK(AmongNodes(hierarchy.engine, leaders, reduction, receive));
  return hierarchy.memory == nullptr ? Status() : SharedBroadcast(*hierarchy.memory, receive, 0);
}

Status StreamsAllReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                        std::span<uint8_t> receive) {
  return Streams(hierarchy, reduction, send, receive).Run();
}

Status HierarchicalReduce(const Hierarchy& hierarchy, Reduction reduction, ByteView send,
                          std::span<uint8_t> receive, int root) {
  const Team team = Representatives(hierarchy.topology, root);
  const bool is_root = hierarchy.topology.rank() == root;
  ByteView partial = send;
  std::unique_ptr<uint8_t[]> storage;
  if (hierarchy.memory != nullptr) {
    std::span<uint8_t> into = receive;
    if (team.index > 0) {
      storage = std::make_unique_for_overwrite<uint8_t[]>(send.size());
      into = {storage.get(), send.size()};
    }
    const Arithmetic arithmetic{reduction.type, reduction.operation};
    const int here = hierarchy.memory->IndexOf(RepresentativeHere(hierarchy.topology, root));
    MUSTER_CHECK(SharedReduce(*hierarchy.memory, arithmetic, send, into, here));
    // This rank may wait for messages next.
    hierarchy.memory->Flush();
    partial = into;
  }
  if (team.index < 0) return {};
  return TreeReduce(hierarchy.engine, MakeTeamTree(team, ShapeAmong(team, send.size())), reduction, partial,
                    is_root ? receive : std::span<uint8_t>());
}

Status HierarchicalBroadcast(const Hierarchy& hierarchy, std::span<uint8_t> data, int root) {
  const Team team = Representatives(hierarchy.topology, root);
  const Tree tree = team.index < 0 ? Tree() : MakeTeamTree(team, ShapeAmong(team, data.size()));
  const int here = RepresentativeHere(hierarchy.topology, root);
  size_t at = 0;
  do {
    const std::span<uint8_t> chunk = Within(data, at, kBroadcastChunk);
    if (team.index >= 0) MUSTER_CHECK(TreeBroadcast(hierarchy.engine, tree, chunk));
    if (hierarchy.memory != nullptr) {
      MUSTER_CHECK(SharedBroadcast(*hierarchy.memory, chunk, hierarchy.memory->IndexOf(here)));
      // The ranks of this node take this chunk while the next one comes.
      hierarchy.memory->Flush();
    }
    at += kBroadcastChunk;
  } while (at < data.size());
  return {};
}

}  // namespace muster::socket
