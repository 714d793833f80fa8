// Element-wise arithmetic of the reductions, for the compiler to vectorise.
//
// What the results are, on every machine:
//   integers   sum and prod wrap around (two's complement); avg is that sum divided by the number of ranks,
//   cut off
//              towards zero
//   f32, f64   IEEE, one rounding for each combination; avg is the sum divided by the number of ranks. min
//   and max with
//              a NaN anywhere are NaN
//   f16, bf16  widened to f32 before the first combination and rounded once, to nearest even, after the last;
//   so no
//              partial sum overflows, and twice the bytes travel
//
// Pointers are aligned for the type. Pure functions.
#pragma once

#include <cstddef>

#include "comm/data_type.h"

namespace muster {

// out[i] = left[i] op right[i]; `out` may be `left` or `right`, and otherwise overlaps neither. kAvg adds up
// like kSum. `type` is one that WorkType gives.
void Combine(DataType type, ReduceOp operation, void* out, const void* left, const void* right, size_t count);

// Makes the sum of `ranks` values their average.
void DivideBy(DataType type, void* data, size_t count, int ranks);

// The type that a reduction of `type` computes in and sends: f32 for f16 and bf16, else itself.
DataType WorkType(DataType type);
// Between `type` (f16 or bf16) and f32.
void Widen(DataType type, const void* narrow, float* wide, size_t count);
void Narrow(DataType type, const float* wide, void* narrow, size_t count);

}  // namespace muster
