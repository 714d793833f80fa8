#include "tests/comm/socket/reference.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "comm/socket/reduce/elements.h"

namespace muster::socket {
namespace {

uint64_t Hash(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185u;
  value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44du;
  return value ^ (value >> 33);
}

bool IsUnsigned(DataType type) { return type == DataType::kU8 || type == DataType::kU64; }

double Average(DataType type, double sum, int ranks) {
  switch (type) {
    case DataType::kF64:
      return sum / ranks;
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF32:
      return static_cast<float>(sum) / static_cast<float>(ranks);
    default:
      // NOLINTNEXTLINE(bugprone-integer-division): the average of integers is cut off
      return static_cast<double>(static_cast<int64_t>(sum) / ranks);
  }
}

double Combined(ReduceOp operation, double a, double b) {
  switch (operation) {
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    default:
      return a + b;
  }
}

}  // namespace

double ElementOf(DataType type, ReduceOp operation, uint64_t seed, int rank, size_t index) {
  const uint64_t hash = Hash(Hash(seed * 1000 + static_cast<uint64_t>(rank)) + index);
  if (operation == ReduceOp::kProd) return static_cast<double>(1 + hash % 2);
  if (IsUnsigned(type)) return static_cast<double>(hash % 4);
  return static_cast<double>(hash % 7) - 3;
}

Bytes ElementsOf(DataType type, ReduceOp operation, uint64_t seed, int rank, size_t count) {
  Bytes bytes(count * SizeOf(type));
  for (size_t i = 0; i < count; ++i)
    SetElement(type, bytes.data(), i, ElementOf(type, operation, seed, rank, i));
  return bytes;
}

Bytes RoundingElements(DataType type, uint32_t seed, size_t count) {
  struct Format {
    int fraction_bits;
    uint64_t half;  // the bits of 0.5
  };
  const auto format = [&]() -> Format {
    if (type == DataType::kF16) return {10, uint64_t{14} << 10};
    if (type == DataType::kBF16) return {7, uint64_t{126} << 7};
    if (type == DataType::kF32) return {23, uint64_t{126} << 23};
    return {52, uint64_t{1022} << 52};
  }();
  const size_t width = SizeOf(type);
  std::mt19937_64 random(seed);
  Bytes bytes(count * width);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t any = random();
    const uint64_t fraction = any & ((uint64_t{1} << format.fraction_bits) - 1);
    const uint64_t sign = (any >> 63) << (8 * width - 1);
    const uint64_t number = format.half | fraction | sign;
    std::memcpy(bytes.data() + i * width, &number, width);
  }
  return bytes;
}

Bytes ReducedElements(DataType type, ReduceOp operation, uint64_t seed, int ranks, size_t count) {
  Bytes bytes(count * SizeOf(type));
  for (size_t i = 0; i < count; ++i) {
    double value = ElementOf(type, operation, seed, 0, i);
    for (int rank = 1; rank < ranks; ++rank) {
      value = Combined(operation, value, ElementOf(type, operation, seed, rank, i));
    }
    SetElement(type, bytes.data(), i, operation == ReduceOp::kAvg ? Average(type, value, ranks) : value);
  }
  return bytes;
}

}  // namespace muster::socket
