// A plain, slow account of what the operations must give, for comparison bit by bit.
#pragma once

#include <cstdint>

#include "comm/base/bytes.h"
#include "comm/data_type.h"

namespace muster::socket {

inline constexpr DataType kAllTypes[] = {DataType::kI8,   DataType::kU8,  DataType::kI32,
                                         DataType::kI64,  DataType::kU64, DataType::kF16,
                                         DataType::kBF16, DataType::kF32, DataType::kF64};
inline constexpr ReduceOp kAllOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                                       ReduceOp::kAvg};

// Small whole numbers, different for each rank and place, so that no float rounds: -3..3 (0..3 for unsigned
// types; 1 and 2 for a product).
double ElementOf(DataType type, ReduceOp operation, uint64_t seed, int rank, size_t index);
// `count` of them as they lie in memory.
Bytes ElementsOf(DataType type, ReduceOp operation, uint64_t seed, int rank, size_t count);
// `count` floats of ±[0.5, 1) that round whenever they meet, so that the order of a reduction shows.
Bytes RoundingElements(DataType type, uint32_t seed, size_t count);
// The reduction of those of all ranks.
Bytes ReducedElements(DataType type, ReduceOp operation, uint64_t seed, int ranks, size_t count);

}  // namespace muster::socket
