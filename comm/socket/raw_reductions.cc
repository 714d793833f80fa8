// Reduce, AllReduce and ReduceScatter on work types.
#include <cstring>
#include <memory>

#include "comm/socket/collectives.h"
#include "comm/socket/team_collectives.h"
#include "comm/socket/tuning.h"

namespace muster {
namespace {

void Copy(ByteView from, std::span<uint8_t> to) {
  if (!from.empty() && from.data() != to.data()) std::memmove(to.data(), from.data(), from.size());
}

TreeShape ReduceShape(size_t bytes, int ranks) {
  if (bytes <= kShortBytes) return {Shape::kBinomial, Shape::kFlat};
  if (bytes / static_cast<size_t>(ranks) >= kChainBytesPerRank) return {Shape::kChain, Shape::kChain};
  return {Shape::kBinomial, Shape::kBinomial};
}

Status TeamAllReduce(Exchange& exchange, const Team& team, Reduction reduction, std::span<uint8_t> data) {
  if (team.size() == 1) return {};
  return data.size() <= kShortBytes ? RecursiveDoublingAllReduce(exchange, team, reduction, data)
                                    : RabenseifnerAllReduce(exchange, team, reduction, data);
}

// Up to each node's first rank, among these, and down again: a node's cable carries the data once in each
// direction.
Status HierarchicalAllReduce(const Collective& collective, Reduction reduction, ByteView send,
                             std::span<uint8_t> receive) {
  const Topology& topology = collective.topology;
  const Tree tree =
      MakeTeamTree(topology.local(), send.size() <= kShortBytes ? Shape::kFlat : Shape::kBinomial);
  MUSTER_CHECK(TreeReduce(collective.exchange, tree, reduction, send, receive));
  if (topology.leaders().index >= 0) {
    MUSTER_CHECK(TeamAllReduce(collective.exchange, topology.leaders(), reduction, receive));
  }
  return TreeBroadcast(collective.exchange, tree, receive);
}

}  // namespace

Status RawReduce(const Collective& collective, Reduction reduction, ByteView send, std::span<uint8_t> receive,
                 int root) {
  const Tree tree = MakeTree(collective.topology, root, ReduceShape(send.size(), collective.size()));
  return TreeReduce(collective.exchange, tree, reduction, send, receive);
}

Status RawAllReduce(const Collective& collective, Reduction reduction, ByteView send,
                    std::span<uint8_t> receive) {
  const Topology& topology = collective.topology;
  const bool is_short = send.size() <= kShortBytes;
  if (!is_short && send.size() / static_cast<size_t>(collective.size()) >= kRingBytesPerRank &&
      collective.size() > 1) {
    return RingAllReduce(collective.exchange, topology.everyone(), reduction, send, receive);
  }
  const bool flat = topology.one_rank_per_node() ||
                    (topology.single_node() && (collective.size() <= kFlatRanks || !is_short));
  if (!flat) return HierarchicalAllReduce(collective, reduction, send, receive);
  Copy(send, receive);
  return TeamAllReduce(collective.exchange, topology.everyone(), reduction, receive);
}

Status RawReduceScatter(const Collective& collective, Reduction reduction, ByteView send,
                        std::span<uint8_t> receive) {
  if (collective.size() == 1) {
    Copy(send, receive);
    return {};
  }
  if (collective.size() <= kFlatRanks || receive.size() >= kRingBlockBytes) {
    return RingReduceScatter(collective.exchange, collective.topology.everyone(), reduction, send, receive);
  }
  const bool root = collective.rank() == 0;
  const auto whole = root ? std::make_unique_for_overwrite<uint8_t[]>(send.size()) : nullptr;
  const std::span<uint8_t> all(whole.get(), root ? send.size() : 0);
  MUSTER_CHECK(RawReduce(collective, reduction, send, all, 0));
  return RunScatter(collective, all, receive, 0);
}

}  // namespace muster
