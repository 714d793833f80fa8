// Random data of every type as float64, for a reference that computes in nothing else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/data_type.h"

namespace muster {

using Values = std::vector<double>;

// As they lie in memory, rounded to the type; and back.
Bytes Pack(DataType type, const Values& values);
Values Unpack(DataType type, const Bytes& bytes);

// The contribution of rank `rank`: for float types reals from -1.5 to 1.5, rounded to the type; else small
// whole numbers, so that no sum or product of a few ranks leaves the type. Every rank can compute that of
// every rank.
Values RandomValues(DataType type, uint64_t seed, int rank, size_t count);

// The reduction of those of all ranks; an average of whole numbers is cut off.
Values Reduced(DataType type, ReduceOp operation, uint64_t seed, int ranks, size_t count);

// How far a result may be from the reference: the rounding of each combination of a few ranks. Nothing for
// whole numbers, whose average may be rounded either way.
double Tolerance(DataType type, bool averaged);

// kInternal: "WHAT: element 17 of 100 is 3.5, not 4.25".
Status Compare(std::string_view what, const Values& got, const Values& wanted, double tolerance);

}  // namespace muster
