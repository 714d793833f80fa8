// Operations on bytes whose length differs by rank.
#include "comm/net/wire.h"
#include "comm/socket/collectives.h"

namespace muster {
namespace {

// Lengths are not known alike on all ranks, so the shape cannot depend on them.
constexpr TreeShape kGatherShape = {Shape::kBinomial, Shape::kFlat};
constexpr TreeShape kBroadcastShape = {Shape::kBinomial, Shape::kBinomial};

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
  const Tree tree = MakeTree(collective.topology, root, kGatherShape);
  return TreeGatherBytes(collective.exchange, tree, collective.rank(), mine);
}

Result<std::vector<Bytes>> RunAllGatherBytes(const Collective& collective, ByteView mine) {
  MUSTER_TRY(std::vector<Bytes> by_rank, RunGatherBytes(collective, mine, 0));
  Bytes packed;
  if (collective.rank() == 0) packed = PackList(by_rank);
  const Tree tree = MakeTree(collective.topology, 0, kBroadcastShape);
  MUSTER_CHECK(TreeBroadcastBytes(collective.exchange, tree, packed));
  if (collective.rank() == 0) return by_rank;
  return UnpackList(packed, collective.size());
}

Result<Bytes> RunBroadcastBytes(const Collective& collective, ByteView mine, int root) {
  Bytes data;
  if (collective.rank() == root) data.assign(mine.begin(), mine.end());
  MUSTER_CHECK(
      TreeBroadcastBytes(collective.exchange, MakeTree(collective.topology, root, kBroadcastShape), data));
  return data;
}

}  // namespace muster
