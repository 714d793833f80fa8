// Element-wise arithmetic of the reductions.
//
// The results, bit for bit on every machine, with any instruction set (reduce_variants.h):
//   integers   sum and prod wrap around (two's complement); avg is that sum divided by the number of ranks,
//              cut off towards zero
//   f32, f64   IEEE, one rounding for each combination; avg is the sum divided by the number of ranks. A sum,
//              product or average that is no number is the one quiet NaN without sign or payload; min and max
//              with a NaN are that NaN, the left one of two, and of two zeros the right one
//   f16, bf16  widened to f32 before the first combination and rounded once, to nearest even, after the last;
//              so no partial sum overflows, and twice the bytes travel
//
// Pointers are aligned for the type. Pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "comm/data_type.h"

namespace muster::socket {

// out[i] = left[i] op right[i]; `out` may be `left` or `right`, and otherwise overlaps neither. kAvg adds up
// like kSum. `type` is one that WorkType gives.
void Combine(DataType type, ReduceOp operation, void* out, const void* left, const void* right, size_t count);

// out[i] = ((sources[0][i] op sources[1][i]) op sources[2][i]) ..., in one go and for every type: f16 and
// bf16 are widened and rounded on the way. `out` may be sources[0] and otherwise overlaps none; there is at
// least one. The result is divided by `divisor`, which is the number of ranks for kAvg and 1 otherwise.
void CombineAll(DataType type, ReduceOp operation, void* out, std::span<const void* const> sources,
                size_t count, int divisor = 1);

// Makes the sum of `ranks` values their average.
void DivideBy(DataType type, void* data, size_t count, int ranks);

// The type that a reduction of `type` computes in and sends: f32 for f16 and bf16, else itself.
DataType WorkType(DataType type);
// Between `type` (f16 or bf16) and f32.
void Widen(DataType type, const void* narrow, float* wide, size_t count);
void Narrow(DataType type, const float* wide, void* narrow, size_t count);

}  // namespace muster::socket
