// The arithmetic of reductions for each type (reduce_kernels.h), around the algorithms of raw_reductions.cc.
#include <memory>

#include "comm/socket/collectives/collectives.h"
#include "comm/socket/reduce/reduce_kernels.h"
#include "comm/socket/shm/shared_collectives.h"

namespace muster::socket {
namespace {

bool IsNarrow(DataType type) { return WorkType(type) != type; }

// The caller's elements in the type that is computed in.
class WorkInput {
 public:
  explicit WorkInput(ConstBuffer buffer) : view_(BytesOf(buffer)) {
    if (!IsNarrow(buffer.type)) return;
    wide_ = std::make_unique_for_overwrite<float[]>(buffer.count);
    Widen(buffer.type, buffer.data, wide_.get(), buffer.count);
    view_ = {reinterpret_cast<const uint8_t*>(wide_.get()), buffer.count * sizeof(float)};
  }
  ByteView bytes() const { return view_; }

 private:
  ByteView view_;
  std::unique_ptr<float[]> wide_;
};

// The buffer in which the result is computed, and its way to the caller's.
class WorkOutput {
 public:
  explicit WorkOutput(Buffer buffer) : buffer_(buffer), view_(BytesOf(buffer)) {
    if (!IsNarrow(buffer.type)) return;
    wide_ = std::make_unique_for_overwrite<float[]>(buffer.count);
    view_ = {reinterpret_cast<uint8_t*>(wide_.get()), buffer.count * sizeof(float)};
  }
  std::span<uint8_t> bytes() const { return view_; }

  void Finish(ReduceOp operation, int ranks) {
    if (operation == ReduceOp::kAvg) DivideBy(WorkType(buffer_.type), view_.data(), buffer_.count, ranks);
    if (wide_) Narrow(buffer_.type, wide_.get(), buffer_.data, buffer_.count);
  }

 private:
  const Buffer buffer_;
  std::span<uint8_t> view_;
  std::unique_ptr<float[]> wide_;
};

size_t WorkBytes(const ConstBuffer& buffer) { return buffer.count * SizeOf(WorkType(buffer.type)); }

// All of it in one place, if nothing has to travel between nodes.
Arithmetic WholeArithmetic(const Collective& collective, const ConstBuffer& send, ReduceOp operation) {
  return {send.type, operation, collective.size()};
}

}  // namespace

Algorithm Collective::Choose(Operation operation, size_t bytes) const {
  const Algorithm algorithm = chooser.Choose(operation, bytes);
  if (operation == engine.call().operation && rank() == 0) chooser.Announce(engine.call(), algorithm);
  return algorithm;
}

Status RunBarrier(const Collective& collective) {
  return RawAllReduce(collective, collective.Choose(Operation::kBarrier, 0), Reduction{}, {}, {});
}

Status RunReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation,
                 int root) {
  const bool is_root = collective.rank() == root;
  if (collective.Choose(Operation::kReduce, WorkBytes(send)) == Algorithm::kSharedMemory) {
    return SharedReduce(*collective.memory, WholeArithmetic(collective, send, operation), BytesOf(send),
                        is_root ? BytesOf(receive) : std::span<uint8_t>(), collective.memory->IndexOf(root));
  }
  const WorkInput input(send);
  WorkOutput output(is_root ? receive : Buffer{nullptr, 0, send.type});
  MUSTER_CHECK(RawReduce(collective, {WorkType(send.type), operation}, input.bytes(), output.bytes(), root));
  output.Finish(operation, collective.size());
  return {};
}

Status RunAllReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation) {
  const Algorithm algorithm = collective.Choose(Operation::kAllReduce, WorkBytes(send));
  if (algorithm == Algorithm::kSharedMemory) {
    return SharedAllReduce(*collective.memory, WholeArithmetic(collective, send, operation), BytesOf(send),
                           BytesOf(receive));
  }
  const WorkInput input(send);
  WorkOutput output(receive);
  MUSTER_CHECK(
      RawAllReduce(collective, algorithm, {WorkType(send.type), operation}, input.bytes(), output.bytes()));
  output.Finish(operation, collective.size());
  return {};
}

Status RunReduceScatter(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation) {
  if (collective.Choose(Operation::kReduceScatter, WorkBytes(receive)) == Algorithm::kSharedMemory) {
    return SharedReduceScatter(*collective.memory, WholeArithmetic(collective, send, operation),
                               BytesOf(send), BytesOf(receive));
  }
  const WorkInput input(send);
  WorkOutput output(receive);
  MUSTER_CHECK(RawReduceScatter(collective, {WorkType(send.type), operation}, input.bytes(), output.bytes()));
  output.Finish(operation, collective.size());
  return {};
}

}  // namespace muster::socket
