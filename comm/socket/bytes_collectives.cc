// Operations on bytes whose length differs by rank.
#include "comm/net/wire.h"
#include "comm/socket/collectives.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster {
namespace {

// Lengths are not known alike on all ranks, so the choice cannot depend on them.
Tree TreeFor(const Collective& collective, Operation operation, int root) {
  return MakeTree(collective.topology, root, ShapeOf(collective.Choose(operation, 0)));
}

Bytes PackList(const std::vector<Bytes>& by_rank) {
  WireWriter writer;
  for (const Bytes& bytes : by_rank) {
    writer.U64(bytes.size());
    writer.Raw(bytes);
  }
  return writer.Take();
}

Result<std::vector<Bytes>> UnpackList(ByteView packed, int ranks) {
  WireReader reader(packed);
  std::vector<Bytes> by_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const ByteView bytes = reader.Raw(reader.U64());
    by_rank.emplace_back(bytes.begin(), bytes.end());
  }
  MUSTER_CHECK(reader.Finish("list of bytes by rank"));
  return by_rank;
}

}  // namespace

Result<std::vector<Bytes>> RunGatherBytes(const Collective& collective, ByteView mine, int root) {
  const Algorithm algorithm = collective.Choose(Operation::kGatherBytes, 0);
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedGatherBytes(*collective.memory, mine, collective.memory->IndexOf(root));
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  return TreeGatherBytes(collective.exchange, tree, collective.rank(), mine);
}

Result<std::vector<Bytes>> RunAllGatherBytes(const Collective& collective, ByteView mine) {
  const Algorithm algorithm = collective.Choose(Operation::kAllGatherBytes, 0);
  if (algorithm == Algorithm::kSharedMemory) return SharedAllGatherBytes(*collective.memory, mine);
  MUSTER_TRY(std::vector<Bytes> by_rank, RunGatherBytes(collective, mine, 0));
  Bytes packed;
  if (collective.rank() == 0) packed = PackList(by_rank);
  const Tree tree = TreeFor(collective, Operation::kBroadcastBytes, 0);
  MUSTER_CHECK(TreeBroadcastBytes(collective.exchange, tree, packed));
  if (collective.rank() == 0) return by_rank;
  return UnpackList(packed, collective.size());
}

Result<Bytes> RunBroadcastBytes(const Collective& collective, ByteView mine, int root) {
  const Algorithm algorithm = collective.Choose(Operation::kBroadcastBytes, 0);
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedBroadcastBytes(*collective.memory, mine, collective.memory->IndexOf(root));
  }
  Bytes data;
  if (collective.rank() == root) data.assign(mine.begin(), mine.end());
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  MUSTER_CHECK(TreeBroadcastBytes(collective.exchange, tree, data));
  return data;
}

}  // namespace muster
