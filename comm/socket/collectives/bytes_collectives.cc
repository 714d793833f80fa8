// Operations on bytes whose length differs by rank.
#include "comm/base/wire.h"
#include "comm/socket/collectives/collectives.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

using Phase = auth::BytesOrigin::Phase;

auth::Digest MacOf(const Collective& collective, Phase phase, int rank, ByteView bytes) {
  const Call& call = collective.engine.call();
  return collective.mac->Of({phase, static_cast<uint8_t>(call.operation), call.communicator, call.sequence,
                             collective.engine.connections().WorldRank(rank)},
                            bytes);
}

// `mine`, followed by the proof for the other ranks that it is from this rank.
Bytes Signed(const Collective& collective, Phase phase, ByteView mine) {
  Bytes signed_bytes;
  signed_bytes.reserve(mine.size() + sizeof(auth::Digest));
  signed_bytes.assign(mine.begin(), mine.end());
  if (collective.mac == nullptr) return signed_bytes;
  const auth::Digest mac = MacOf(collective, phase, collective.rank(), mine);
  signed_bytes.insert(signed_bytes.end(), mac.begin(), mac.end());
  return signed_bytes;
}

// Takes it off again.
Status CheckSigned(const Collective& collective, Phase phase, int from, Bytes& bytes) {
  if (collective.mac == nullptr) return {};
  const size_t size = bytes.size() - std::min(bytes.size(), sizeof(auth::Digest));
  const ByteView mac = ByteView(bytes).subspan(size);
  const bool own = from == collective.rank();  // it was not sent
  if (!own && !auth::EqualInConstantTime(mac, MacOf(collective, phase, from, ByteView(bytes).first(size)))) {
    return collective.engine.failures().Tampered(from, "it is not authentic");
  }
  bytes.resize(size);
  return {};
}

Result<Bytes> SignedBroadcast(const Collective& collective, const Tree& tree, ByteView mine, int root) {
  Bytes data;
  if (collective.rank() == root) data = Signed(collective, Phase::kBroadcast, mine);
  MUSTER_CHECK(TreeBroadcastBytes(collective.engine, tree, data));
  MUSTER_CHECK(CheckSigned(collective, Phase::kBroadcast, root, data));
  return data;
}

// A rank has only its own length, so the choice cannot depend on lengths.
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
  MUSTER_TRY(std::vector<Bytes> by_rank, TreeGatherBytes(collective.engine, tree, collective.rank(),
                                                         Signed(collective, Phase::kGather, mine)));
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    MUSTER_CHECK(CheckSigned(collective, Phase::kGather, static_cast<int>(rank), by_rank[rank]));
  }
  return by_rank;
}

Result<std::vector<Bytes>> RunAllGatherBytes(const Collective& collective, ByteView mine) {
  const Algorithm algorithm = collective.Choose(Operation::kAllGatherBytes, 0);
  if (algorithm == Algorithm::kSharedMemory) return SharedAllGatherBytes(*collective.memory, mine);
  MUSTER_TRY(std::vector<Bytes> by_rank, RunGatherBytes(collective, mine, 0));
  Bytes packed;
  if (collective.rank() == 0) packed = PackList(by_rank);
  const Tree tree = TreeFor(collective, Operation::kBroadcastBytes, 0);
  MUSTER_TRY(packed, SignedBroadcast(collective, tree, packed, 0));
  if (collective.rank() == 0) return by_rank;
  return UnpackList(packed, collective.size());
}

Result<Bytes> RunBroadcastBytes(const Collective& collective, ByteView mine, int root) {
  const Algorithm algorithm = collective.Choose(Operation::kBroadcastBytes, 0);
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedBroadcastBytes(*collective.memory, mine, collective.memory->IndexOf(root));
  }
  const Tree tree = MakeTree(collective.topology, root, ShapeOf(algorithm));
  return SignedBroadcast(collective, tree, mine, root);
}

}  // namespace muster::socket
