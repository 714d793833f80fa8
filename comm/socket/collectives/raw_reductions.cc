// Reduce, AllReduce and ReduceScatter on work types.
#include <memory>

#include "comm/socket/algorithms/team_collectives.h"
#include "comm/socket/collectives/collectives.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

// Up to each node's first rank, among these, and down again: a node's cable carries the data once in each
// direction.
Status HierarchicalAllReduce(const Collective& collective, Shape local, Algorithm among_nodes,
                             Reduction reduction, ByteView send, std::span<uint8_t> receive) {
  const Team& leaders = collective.topology.leaders();
  const Tree tree = MakeTeamTree(collective.topology.local(), local);
  MUSTER_CHECK(TreeReduce(collective.engine, tree, reduction, send, receive));
  if (leaders.index >= 0) {
    MUSTER_CHECK(among_nodes == Algorithm::kRabenseifner
                     ? RabenseifnerAllReduce(collective.engine, leaders, reduction, receive)
                     : RecursiveDoublingAllReduce(collective.engine, leaders, reduction, receive));
  }
  return TreeBroadcast(collective.engine, tree, receive);
}

}  // namespace

Status RawReduce(const Collective& collective, Reduction reduction, ByteView send, std::span<uint8_t> receive,
                 int root) {
  const Algorithm algorithm = collective.Choose(Operation::kReduce, send.size());
  if (algorithm == Algorithm::kSharedMemory) {
    const Arithmetic sum{reduction.type, reduction.operation};
    return SharedReduce(*collective.memory, sum, send, receive, collective.memory->IndexOf(root));
  }
  if (algorithm == Algorithm::kSharedMemoryTree) {
    return HierarchicalReduce(collective.hierarchy(), reduction, send, receive, root);
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  return TreeReduce(collective.engine, tree, reduction, send, receive);
}

Status RawAllReduce(const Collective& collective, Algorithm algorithm, Reduction reduction, ByteView send,
                    std::span<uint8_t> receive) {
  ProgressEngine& engine = collective.engine;
  const Team& everyone = collective.topology.everyone();
  if (everyone.size() == 1) {
    CopyBlock(send, receive);
    return {};
  }
  switch (algorithm) {
    case Algorithm::kSharedMemory:
      return SharedAllReduce(*collective.memory, {reduction.type, reduction.operation}, send, receive);
    case Algorithm::kSharedMemoryTree:
      return TreeAllReduce(collective.hierarchy(), reduction, send, receive);
    case Algorithm::kSharedMemoryStreams:
      return StreamsAllReduce(collective.hierarchy(), reduction, send, receive);
    case Algorithm::kRing:
      return RingAllReduce(engine, everyone, reduction, send, receive);
    case Algorithm::kHierarchicalRecursiveDoubling:
      return HierarchicalAllReduce(collective, Shape::kFlat, Algorithm::kRecursiveDoubling, reduction, send,
                                   receive);
    case Algorithm::kHierarchicalRabenseifner:
      return HierarchicalAllReduce(collective, Shape::kBinomial, Algorithm::kRabenseifner, reduction, send,
                                   receive);
    case Algorithm::kRabenseifner:
      CopyBlock(send, receive);
      return RabenseifnerAllReduce(engine, everyone, reduction, receive);
    default:
      CopyBlock(send, receive);
      return RecursiveDoublingAllReduce(engine, everyone, reduction, receive);
  }
}

Status RawReduceScatter(const Collective& collective, Reduction reduction, ByteView send,
                        std::span<uint8_t> receive) {
  if (collective.size() == 1) {
    CopyBlock(send, receive);
    return {};
  }
  if (collective.Choose(Operation::kReduceScatter, receive.size()) == Algorithm::kRing) {
    return RingReduceScatter(collective.engine, collective.topology.everyone(), reduction, send, receive);
  }
  const bool root = collective.rank() == 0;
  const auto whole = root ? std::make_unique_for_overwrite<uint8_t[]>(send.size()) : nullptr;
  const std::span<uint8_t> all(whole.get(), root ? send.size() : 0);
  MUSTER_CHECK(RawReduce(collective, reduction, send, all, 0));
  return RunScatter(collective, all, receive, 0);
}

}  // namespace muster::socket
