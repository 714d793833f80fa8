#include "comm/socket/algorithms/tree_collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "comm/base/wire.h"
#include "comm/socket/engine/peer_stream.h"
#include "comm/socket/reduce/reduce_kernels.h"

namespace muster::socket {
namespace {

// Fits into a core's cache twice over, and its header and system calls are a few percent of it.
constexpr size_t kSegment = size_t{128} * 1024;

size_t Segments(size_t bytes) { return std::max<size_t>(1, (bytes + kSegment - 1) / kSegment); }

template <typename Byte>
std::span<Byte> Segment(std::span<Byte> data, size_t index) {
  const size_t begin = std::min(data.size(), index * kSegment);
  return data.subspan(begin, std::min(kSegment, data.size() - begin));
}

// One rank's share of a reduction along a tree, segment by segment.
class SegmentReducer {
 public:
  SegmentReducer(ProgressEngine& engine, const Tree& tree, Reduction reduction, ByteView mine,
                 std::span<uint8_t> result)
      : engine_(engine), tree_(tree), reduction_(reduction), mine_(mine), result_(result) {
    width_ = std::min(kSegment, mine.size());
    arrivals_ = std::make_unique_for_overwrite<uint8_t[]>(width_ * tree.children.size());
    if (tree.parent >= 0) outgoing_ = std::make_unique_for_overwrite<uint8_t[]>(2 * width_);
  }

  // Segment `index` arrives while the one before it goes up.
  Status Run() {
    const size_t segments = Segments(mine_.size());
    ByteView finished;
    for (size_t index = 0; index <= segments; ++index) {
      if (tree_.parent >= 0 && index > 0) engine_.Send(tree_.parent, finished);
      if (index < segments) ReceiveFromChildren(index);
      MUSTER_CHECK(engine_.Run());
      if (index < segments) finished = CombineSegment(index);
    }
    return {};
  }

 private:
  uint8_t* ArrivedBytes(size_t child) { return arrivals_.get() + child * width_; }

  void ReceiveFromChildren(size_t index) {
    const size_t bytes = Segment(mine_, index).size();
    for (size_t child = 0; child < tree_.children.size(); ++child) {
      engine_.Receive(tree_.children[child].rank, {ArrivedBytes(child), bytes});
    }
  }

  ByteView CombineSegment(size_t index) {
    const ByteView mine = Segment(mine_, index);
    uint8_t* out =
        tree_.parent >= 0 ? outgoing_.get() + (index % 2) * width_ : Segment(result_, index).data();
    const uint8_t* left = mine.data();
    for (size_t child = 0; child < tree_.children.size(); ++child) {
      Combine(reduction_.type, reduction_.operation, out, left, ArrivedBytes(child),
              mine.size() / SizeOf(reduction_.type));
      left = out;
    }
    return {out, mine.size()};
  }

  ProgressEngine& engine_;
  const Tree& tree_;
  const Reduction reduction_;
  const ByteView mine_;
  const std::span<uint8_t> result_;
  size_t width_ = 0;
  std::unique_ptr<uint8_t[]> arrivals_;
  std::unique_ptr<uint8_t[]> outgoing_;
};

// The message of TreeGatherBytes: u32 rank, u64 length, bytes; for every rank below.
void AppendEntry(WireWriter& writer, int rank, ByteView bytes) {
  writer.U32(static_cast<uint32_t>(rank));
  writer.U64(bytes.size());
  writer.Raw(bytes);
}

Status ReadEntries(ByteView blob, std::vector<Bytes>& by_rank) {
  WireReader reader(blob);
  while (reader.ok() && reader.remaining() > 0) {
    const uint32_t rank = reader.U32();
    const ByteView bytes = reader.Raw(reader.U64());
    if (rank >= by_rank.size()) reader.MarkBad();
    if (reader.ok()) by_rank[rank].assign(bytes.begin(), bytes.end());
  }
  return reader.Finish("list of bytes by rank");
}

}  // namespace

Status TreeBroadcast(ProgressEngine& engine, const Tree& tree, std::span<uint8_t> data) {
  const ArrivedBytes* arrival = tree.parent >= 0 ? engine.Receive(tree.parent, data) : nullptr;
  for (const Branch& child : tree.children) engine.SendArriving(child.rank, data, arrival);
  return engine.Run();
}

Status TreeReduce(ProgressEngine& engine, const Tree& tree, Reduction reduction, ByteView mine,
                  std::span<uint8_t> result) {
  if (!tree.children.empty()) return SegmentReducer(engine, tree, reduction, mine, result).Run();
  if (tree.parent < 0) {
    if (!mine.empty()) std::memmove(result.data(), mine.data(), mine.size());
    return {};
  }
  for (size_t index = 0; index < Segments(mine.size()); ++index)
    engine.Send(tree.parent, Segment(mine, index));
  return engine.Run();
}

Status TreeGather(ProgressEngine& engine, const Tree& tree, ByteView mine, std::span<uint8_t> all) {
  const size_t block = mine.size();
  if (block > 0) std::memmove(all.data(), mine.data(), block);
  for (const Branch& child : tree.children) {
    engine.Receive(child.rank,
                   all.subspan((child.begin - tree.begin) * block, (child.end - child.begin) * block));
  }
  MUSTER_CHECK(engine.Run());
  if (tree.parent < 0) return {};
  engine.Send(tree.parent, all.first((tree.end - tree.begin) * block));
  return engine.Run();
}

Status TreeScatter(ProgressEngine& engine, const Tree& tree, size_t block, std::span<uint8_t> all) {
  if (tree.parent >= 0) {
    engine.Receive(tree.parent, all.first((tree.end - tree.begin) * block));
    MUSTER_CHECK(engine.Run());
  }
  for (const Branch& child : tree.children) {
    engine.Send(child.rank,
                all.subspan((child.begin - tree.begin) * block, (child.end - child.begin) * block));
  }
  return engine.Run();
}

Result<std::vector<Bytes>> TreeGatherBytes(ProgressEngine& engine, const Tree& tree, int rank,
                                           ByteView mine) {
  std::vector<Bytes> blobs(tree.children.size());
  for (size_t i = 0; i < blobs.size(); ++i) engine.ReceiveBytes(tree.children[i].rank, blobs[i]);
  MUSTER_CHECK(engine.Run());
  std::vector<Bytes> by_rank;
  if (tree.parent < 0) {
    by_rank.resize(static_cast<size_t>(engine.connections().size()));
    by_rank[static_cast<size_t>(rank)].assign(mine.begin(), mine.end());
    for (const Bytes& blob : blobs) MUSTER_CHECK(ReadEntries(blob, by_rank));
    return by_rank;
  }
  WireWriter writer;
  AppendEntry(writer, rank, mine);
  for (const Bytes& blob : blobs) writer.Raw(blob);
  engine.Send(tree.parent, writer.bytes());
  MUSTER_CHECK(engine.Run());
  return by_rank;
}

Status TreeBroadcastBytes(ProgressEngine& engine, const Tree& tree, Bytes& data) {
  WireWriter length;
  length.U64(data.size());
  std::array<uint8_t, 8> wire{};
  std::ranges::copy(length.bytes(), wire.begin());
  MUSTER_CHECK(TreeBroadcast(engine, tree, wire));
  const uint64_t size = WireReader(wire).U64();
  if (tree.parent < 0) return TreeBroadcast(engine, tree, data);
  if (!TryReserve(data, size)) return engine.failures().NoMemory(tree.parent, size);
  const ArrivedBytes* arrival = engine.ReceiveBytes(tree.parent, data, size);
  // Bytes are passed on as they arrive: `data` grows in place.
  for (const Branch& child : tree.children) engine.SendArriving(child.rank, {data.data(), size}, arrival);
  return engine.Run();
}

}  // namespace muster::socket
