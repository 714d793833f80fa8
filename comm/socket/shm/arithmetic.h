// A reduction as the shared memory runs it: on the callers' elements, part by part, while they are in the
// cache; widened, combined, divided and rounded in one go (CombineAll of reduce_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/data_type.h"
#include "comm/socket/reduce/reduce_kernels.h"

namespace muster::socket {

struct Arithmetic {
  DataType type = DataType::kU8;  // any, also f16 and bf16
  ReduceOp operation = ReduceOp::kSum;
  int average_of = 1;  // kAvg: so many ranks' sum becomes their average; 1: it stays a sum

  // out = parts[0] op parts[1] op ..., from left to right; `out` overlaps none of them.
  void Apply(uint8_t* out, std::span<const void* const> parts, size_t bytes) const {
    const int divisor = operation == ReduceOp::kAvg ? average_of : 1;
    CombineAll(type, operation, out, parts, bytes / SizeOf(type), divisor);
  }
};

}  // namespace muster::socket
