// What reductions mean for each type (reduce_kernels.h), around the algorithms of raw_reductions.cc.
#include <memory>

#include "comm/socket/collectives.h"
#include "comm/socket/reduce_kernels.h"

namespace muster {
namespace {

bool IsNarrow(DataType type) { return WorkType(type) != type; }

// The caller's elements in the type that is computed in.
class WorkInput {
 public:
  explicit WorkInput(ConstBuffer buffer) : view_(static_cast<const uint8_t*>(buffer.data), buffer.bytes()) {
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

// Where the result is computed, and how it gets to the caller.
class WorkOutput {
 public:
  explicit WorkOutput(Buffer buffer)
      : buffer_(buffer), view_(static_cast<uint8_t*>(buffer.data), buffer.bytes()) {
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

}  // namespace

Status RunBarrier(const Collective& collective) { return RawAllReduce(collective, Reduction{}, {}, {}); }

Status RunReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation,
                 int root) {
  const bool is_root = collective.rank() == root;
  const WorkInput input(send);
  WorkOutput output(is_root ? receive : Buffer{nullptr, 0, send.type});
  MUSTER_CHECK(RawReduce(collective, {WorkType(send.type), operation}, input.bytes(), output.bytes(), root));
  output.Finish(operation, collective.size());
  return {};
}

Status RunAllReduce(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation) {
  const WorkInput input(send);
  WorkOutput output(receive);
  MUSTER_CHECK(RawAllReduce(collective, {WorkType(send.type), operation}, input.bytes(), output.bytes()));
  output.Finish(operation, collective.size());
  return {};
}

Status RunReduceScatter(const Collective& collective, ConstBuffer send, Buffer receive, ReduceOp operation) {
  const WorkInput input(send);
  WorkOutput output(receive);
  MUSTER_CHECK(RawReduceScatter(collective, {WorkType(send.type), operation}, input.bytes(), output.bytes()));
  output.Finish(operation, collective.size());
  return {};
}

}  // namespace muster
