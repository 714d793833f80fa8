#include "comm/socket/reduce/reduce_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "comm/socket/reduce/reduce_variants.h"

namespace muster::socket {
namespace {

// Elements at a time if there are several passes: the results of the first are still in the nearest cache for
// the last.
constexpr size_t kBlock = 1024;

const void* At(const void* memory, size_t offset) { return static_cast<const uint8_t*>(memory) + offset; }
void* At(void* memory, size_t offset) { return static_cast<uint8_t*>(memory) + offset; }

struct Pass {
  const ReduceVariant& variant;
  DataType type;
  ReduceOp operation;
  std::span<const void* const> sources;
  int divisor;
};

// Elements [begin, begin + count) of all sources into `out`.
void CombineBlock(const Pass& pass, void* out, size_t begin, size_t count) {
  const size_t offset = begin * SizeOf(pass.type);
  const void* left = At(pass.sources[0], offset);
  for (const void* source : pass.sources.subspan(1)) {
    pass.variant.combine(pass.type, pass.operation, out, left, At(source, offset), count);
    left = out;
  }
  if (left != out) std::memmove(out, left, count * SizeOf(pass.type));
  if (pass.divisor > 1) pass.variant.divide(pass.type, out, count, pass.divisor);
}

void CombineNarrowBlock(const Pass& pass, void* out, size_t begin, size_t count) {
  std::array<float, kBlock> sum;
  std::array<float, kBlock> next;
  const size_t offset = begin * SizeOf(pass.type);
  pass.variant.widen(pass.type, At(pass.sources[0], offset), sum.data(), count);
  for (const void* source : pass.sources.subspan(1)) {
    pass.variant.widen(pass.type, At(source, offset), next.data(), count);
    pass.variant.combine(DataType::kF32, pass.operation, sum.data(), sum.data(), next.data(), count);
  }
  if (pass.divisor > 1) pass.variant.divide(DataType::kF32, sum.data(), count, pass.divisor);
  pass.variant.narrow(pass.type, sum.data(), out, count);
}

}  // namespace

void Combine(DataType type, ReduceOp operation, void* out, const void* left, const void* right,
             size_t count) {
  BestReduceVariant().combine(type, operation, out, left, right, count);
}

void CombineAll(DataType type, ReduceOp operation, void* out, std::span<const void* const> sources,
                size_t count, int divisor) {
  const Pass pass = {BestReduceVariant(), type, operation, sources, divisor};
  const bool narrow = WorkType(type) != type;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t some = std::min(kBlock, count - begin);
    void* to = At(out, begin * SizeOf(type));
    if (narrow) {
      CombineNarrowBlock(pass, to, begin, some);
    } else {
      CombineBlock(pass, to, begin, some);
    }
  }
}

void DivideBy(DataType type, void* data, size_t count, int ranks) {
  BestReduceVariant().divide(type, data, count, ranks);
}

DataType WorkType(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16 ? DataType::kF32 : type;
}

void Widen(DataType type, const void* narrow, float* wide, size_t count) {
  BestReduceVariant().widen(type, narrow, wide, count);
}

void Narrow(DataType type, const float* wide, void* narrow, size_t count) {
  BestReduceVariant().narrow(type, wide, narrow, count);
}

}  // namespace muster::socket
