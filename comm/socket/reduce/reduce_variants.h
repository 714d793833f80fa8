// The loops of reduce_kernels.h, compiled for the instruction sets that machines have. Every variant gives
// the same bits (reasons: reduce_loops.h). The processor decides once which one runs.
//
// A table of functions and not the compiler's own multiversioning: that resolves symbols while the program is
// still being loaded, which sanitizers and static linking do not take well.
#pragma once

#include <cstddef>
#include <span>

#include "comm/data_type.h"

namespace muster::socket {

struct ReduceVariant {
  const char* name;  // "portable", "avx2"
  // As in reduce_kernels.h.
  void (*combine)(DataType type, ReduceOp operation, void* out, const void* left, const void* right,
                  size_t count);
  void (*divide)(DataType type, void* data, size_t count, int ranks);
  void (*widen)(DataType type, const void* narrow, float* wide, size_t count);
  void (*narrow)(DataType type, const float* wide, void* narrow, size_t count);
};

// Those that this processor can run, the best last; never empty.
std::span<const ReduceVariant* const> UsableReduceVariants();
const ReduceVariant& BestReduceVariant();

namespace reduce_variants {
extern const ReduceVariant kPortable;  // reduce_portable.cc
#if defined(__x86_64__)
extern const ReduceVariant kAvx2;  // reduce_avx2.cc
#endif
}  // namespace reduce_variants

}  // namespace muster::socket
