// Broadcast, Gather, AllGather and Scatter.
#include <memory>

#include "comm/socket/algorithms/team_collectives.h"
#include "comm/socket/collectives/collectives.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

bool IsRankOrder(const std::vector<int>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

Status RunBroadcast(const Collective& collective, std::span<uint8_t> data, int root) {
  const Algorithm algorithm = collective.Choose(Operation::kBroadcast, data.size());
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedBroadcast(*collective.memory, data, collective.memory->IndexOf(root));
  }
  if (algorithm == Algorithm::kSharedMemoryTree) {
    return HierarchicalBroadcast(collective.hierarchy(), data, root);
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  return TreeBroadcast(collective.engine, tree, data);
}

Status RunGather(const Collective& collective, ByteView mine, std::span<uint8_t> all, int root) {
  const size_t block = mine.size();
  const Algorithm algorithm = collective.Choose(Operation::kGather, block);
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedGather(*collective.memory, mine, all, collective.memory->IndexOf(root));
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  if (tree.parent >= 0) {
    const auto part = std::make_unique_for_overwrite<uint8_t[]>((tree.end - tree.begin) * block);
    return TreeGather(collective.engine, tree, mine, {part.get(), (tree.end - tree.begin) * block});
  }
  const std::vector<int> order = TreeOrder(collective.topology, root);
  if (IsRankOrder(order)) return TreeGather(collective.engine, tree, mine, all);
  const auto staged = std::make_unique_for_overwrite<uint8_t[]>(order.size() * block);
  MUSTER_CHECK(TreeGather(collective.engine, tree, mine, {staged.get(), order.size() * block}));
  for (size_t i = 0; i < order.size(); ++i) {
    CopyBlock({staged.get() + i * block, block}, all.subspan(static_cast<size_t>(order[i]) * block));
  }
  return {};
}

Status RunAllGather(const Collective& collective, ByteView mine, std::span<uint8_t> all) {
  const size_t block = mine.size();
  const Algorithm algorithm = collective.Choose(Operation::kAllGather, block);
  if (algorithm == Algorithm::kSharedMemory) return SharedAllGather(*collective.memory, mine, all);
  if (algorithm == Algorithm::kRing) {
    CopyBlock(mine, all.subspan(static_cast<size_t>(collective.rank()) * block));
    return RingAllGather(collective.engine, collective.topology.everyone(), all, block);
  }
  MUSTER_CHECK(RunGather(collective, mine, all, 0));
  return RunBroadcast(collective, all, 0);
}

Status RunScatter(const Collective& collective, ByteView all, std::span<uint8_t> mine, int root) {
  const size_t block = mine.size();
  const Algorithm algorithm = collective.Choose(Operation::kScatter, block);
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedScatter(*collective.memory, all, mine, collective.memory->IndexOf(root));
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  const size_t below = tree.end - tree.begin;
  if (tree.parent >= 0 && below == 1) return TreeScatter(collective.engine, tree, block, mine);
  const auto staged = std::make_unique_for_overwrite<uint8_t[]>(below * block);
  if (tree.parent < 0) {
    const std::vector<int> order = TreeOrder(collective.topology, root);
    for (size_t i = 0; i < order.size(); ++i) {
      CopyBlock(all.subspan(static_cast<size_t>(order[i]) * block, block), {staged.get() + i * block, block});
    }
  }
  MUSTER_CHECK(TreeScatter(collective.engine, tree, block, {staged.get(), below * block}));
  CopyBlock({staged.get(), block}, mine);
  return {};
}

}  // namespace muster::socket
