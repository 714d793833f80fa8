#include "comm/socket/reduce_kernels.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace muster {
namespace {

// Unsigned arithmetic wraps by definition, and nothing narrower than it is promoted to int.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;

struct Sum {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    }
  }
};

struct Prod {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    }
  }
};

// `a != a` keeps a NaN on the left; one on the right fails the comparison and is taken.
struct Min {
  template <typename T>
  static T Apply(T a, T b) {
    return (a < b || a != a) ? a : b;
  }
};

struct Max {
  template <typename T>
  static T Apply(T a, T b) {
    return (a > b || a != a) ? a : b;
  }
};

template <typename Op, typename T>
void Loop(void* out_memory, const void* left_memory, const void* right_memory, size_t count) {
  T* out = static_cast<T*>(out_memory);
  const T* left = static_cast<const T*>(left_memory);
  const T* right = static_cast<const T*>(right_memory);
  // `out` is exactly one of the operands or neither, so no iteration depends on another; the compiler cannot
  // know.
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) out[i] = Op::template Apply<T>(left[i], right[i]);
}

template <typename T>
void CombineAs(ReduceOp operation, void* out, const void* left, const void* right, size_t count) {
  switch (operation) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return Loop<Sum, T>(out, left, right, count);
    case ReduceOp::kProd:
      return Loop<Prod, T>(out, left, right, count);
    case ReduceOp::kMin:
      return Loop<Min, T>(out, left, right, count);
    case ReduceOp::kMax:
      return Loop<Max, T>(out, left, right, count);
  }
}

template <typename T>
void DivideAs(void* memory, size_t count, int ranks) {
  // A group may have more ranks than an i8 can count.
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  T* data = static_cast<T*>(memory);
  const Wide divisor = static_cast<Wide>(ranks);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<T>(static_cast<Wide>(data[i]) / divisor);
}

// Half to float and back after F. Giesen, "Float->half variants" (public domain): exact, and to nearest even.
float FromHalf(uint16_t bits) {
  constexpr uint32_t kShiftedExponent = 0x7c00u << 13;
  uint32_t out = (bits & 0x7fffu) << 13;
  const uint32_t exponent = out & kShiftedExponent;
  out += (127u - 15u) << 23;
  if (exponent == kShiftedExponent) {
    out += (128u - 16u) << 23;
  } else if (exponent == 0) {
    out += 1u << 23;
    out = std::bit_cast<uint32_t>(std::bit_cast<float>(out) - std::bit_cast<float>(113u << 23));
  }
  return std::bit_cast<float>(out | (static_cast<uint32_t>(bits & 0x8000u) << 16));
}

uint16_t ToHalf(float value) {
  constexpr uint32_t kInfinity = 255u << 23;
  constexpr uint32_t kTooLarge = (127u + 16u) << 23;
  constexpr uint32_t kSmallestNormal = 113u << 23;
  constexpr uint32_t kDenormalMagic = ((127u - 15u) + (23u - 10u) + 1u) << 23;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000u;
  bits ^= sign;
  uint32_t out = 0;
  if (bits >= kTooLarge) {
    out = bits > kInfinity ? 0x7e00u : 0x7c00u;
  } else if (bits < kSmallestNormal) {
    const float shifted = std::bit_cast<float>(bits) + std::bit_cast<float>(kDenormalMagic);
    out = std::bit_cast<uint32_t>(shifted) - kDenormalMagic;
  } else {
    const uint32_t odd = (bits >> 13) & 1u;
    out = (bits + ((15u - 127u) << 23) + 0xfffu + odd) >> 13;
  }
  return static_cast<uint16_t>(out | (sign >> 16));
}

float FromBFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t ToBFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // Rounding a NaN could carry it into infinity.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

void Combine(DataType type, ReduceOp operation, void* out, const void* left, const void* right,
             size_t count) {
  switch (type) {
    case DataType::kI8:
      return CombineAs<int8_t>(operation, out, left, right, count);
    case DataType::kU8:
      return CombineAs<uint8_t>(operation, out, left, right, count);
    case DataType::kI32:
      return CombineAs<int32_t>(operation, out, left, right, count);
    case DataType::kI64:
      return CombineAs<int64_t>(operation, out, left, right, count);
    case DataType::kU64:
      return CombineAs<uint64_t>(operation, out, left, right, count);
    case DataType::kF32:
      return CombineAs<float>(operation, out, left, right, count);
    case DataType::kF64:
      return CombineAs<double>(operation, out, left, right, count);
    case DataType::kF16:
    case DataType::kBF16:
      return;  // not a WorkType
  }
}

void DivideBy(DataType type, void* data, size_t count, int ranks) {
  switch (type) {
    case DataType::kI8:
      return DivideAs<int8_t>(data, count, ranks);
    case DataType::kU8:
      return DivideAs<uint8_t>(data, count, ranks);
    case DataType::kI32:
      return DivideAs<int32_t>(data, count, ranks);
    case DataType::kI64:
      return DivideAs<int64_t>(data, count, ranks);
    case DataType::kU64:
      return DivideAs<uint64_t>(data, count, ranks);
    case DataType::kF32:
      return DivideAs<float>(data, count, ranks);
    case DataType::kF64:
      return DivideAs<double>(data, count, ranks);
    case DataType::kF16:
    case DataType::kBF16:
      return;  // not a WorkType
  }
}

DataType WorkType(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16 ? DataType::kF32 : type;
}

void Widen(DataType type, const void* narrow, float* wide, size_t count) {
  const uint16_t* in = static_cast<const uint16_t*>(narrow);
  if (type == DataType::kF16) {
    for (size_t i = 0; i < count; ++i) wide[i] = FromHalf(in[i]);
  } else {
    for (size_t i = 0; i < count; ++i) wide[i] = FromBFloat(in[i]);
  }
}

void Narrow(DataType type, const float* wide, void* narrow, size_t count) {
  uint16_t* out = static_cast<uint16_t*>(narrow);
  if (type == DataType::kF16) {
    for (size_t i = 0; i < count; ++i) out[i] = ToHalf(wide[i]);
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = ToBFloat(wide[i]);
  }
}

}  // namespace muster
