// The loops of the reductions, written once for the compiler to vectorise; each reduce_*.cc that includes
// this compiles them for another instruction set, after setting it. So everything has internal linkage and
// nothing of the standard library is called: no function may be shared between files that are compiled
// differently.
//
// The same bits with any instruction set:
//   - no step rounds but IEEE operations on single elements, and none is fused or reordered;
//   - of a sum or product that is no number only that is kept: which operand's NaN survives would depend on
//   the
//     order in which the compiler has put them;
//   - minimum, maximum and the conversions are comparisons, selections and whole-number arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/data_type.h"

namespace muster::socket {
namespace {

// One file for each instruction set includes this; x != x tests for a NaN.
// NOLINTBEGIN(misc-definitions-in-headers,misc-redundant-expression)

template <typename T>
inline constexpr bool kIsFloat = __is_same(T, float) || __is_same(T, double);
template <typename T>
inline constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

// Unsigned arithmetic wraps by definition.
template <typename T>
struct WrappingOf;
template <>
struct WrappingOf<int8_t> {
  using Type = uint8_t;
};
template <>
struct WrappingOf<uint8_t> {
  using Type = uint8_t;
};
template <>
struct WrappingOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct WrappingOf<int64_t> {
  using Type = uint64_t;
};
template <>
struct WrappingOf<uint64_t> {
  using Type = uint64_t;
};
template <typename T>
using Wrapping = typename WrappingOf<T>::Type;

template <typename T>
inline T OneNan(T value) {
  return value != value ? static_cast<T>(__builtin_nanf("")) : value;
}

struct Sum {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return OneNan(a + b);
    } else {
      return static_cast<T>(
          static_cast<Wrapping<T>>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)));
    }
  }
};

struct Prod {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return OneNan(a * b);
    } else {
      return static_cast<T>(
          static_cast<Wrapping<T>>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)));
    }
  }
};

// `a != a` keeps a NaN on the left; one on the right fails the comparison and is taken. No short circuit: the
// compiler would have to keep the branch.
struct Min {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return (static_cast<int>(a < b) | static_cast<int>(a != a)) != 0 ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

struct Max {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return (static_cast<int>(a > b) | static_cast<int>(a != a)) != 0 ? a : b;
    } else {
      return a > b ? a : b;
    }
  }
};

template <typename Op, typename T>
void Loop(void* out_memory, const void* left_memory, const void* right_memory, size_t count) {
  T* out = static_cast<T*>(out_memory);
  const T* left = static_cast<const T*>(left_memory);
  const T* right = static_cast<const T*>(right_memory);
  // `out` is exactly one of the operands or neither, so no iteration depends on another; the compiler cannot
  // prove it.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
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

void CombineAny(DataType type, ReduceOp operation, void* out, const void* left, const void* right,
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

// A quotient of whole numbers below 2^32 is further from the next whole number than a double rounds: cut off,
// it is exact. A group may have more ranks than an i8 can count.
template <typename T>
void DivideAsDouble(T* data, size_t count, int ranks) {
  const double divisor = ranks;
  for (size_t i = 0; i < count; ++i) {
    data[i] = static_cast<T>(static_cast<int32_t>(static_cast<double>(data[i]) / divisor));
  }
}

// Cut off towards zero: negative values are raised by all but one of the divisor first.
template <typename T>
void Shift(T* data, size_t count, uint64_t divisor) {
  const int places = __builtin_ctzll(divisor);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t raised = kIsSigned<T> && data[i] < 0 ? static_cast<uint64_t>(data[i]) + divisor - 1
                                                        : static_cast<uint64_t>(data[i]);
    data[i] = static_cast<T>(raised) >> places;
  }
}

template <typename T>
void DivideWide(T* data, size_t count, int ranks) {
  const uint64_t divisor = static_cast<uint64_t>(ranks);
  if ((divisor & (divisor - 1)) == 0) return Shift(data, count, divisor);
  for (size_t i = 0; i < count; ++i) data[i] /= static_cast<T>(divisor);
}

template <typename T>
void DivideReal(T* data, size_t count, int ranks) {
  const T divisor = static_cast<T>(ranks);
  for (size_t i = 0; i < count; ++i) data[i] = OneNan(data[i] / divisor);
}

void DivideAny(DataType type, void* data, size_t count, int ranks) {
  switch (type) {
    case DataType::kI8:
      return DivideAsDouble(static_cast<int8_t*>(data), count, ranks);
    case DataType::kU8:
      return DivideAsDouble(static_cast<uint8_t*>(data), count, ranks);
    case DataType::kI32:
      return DivideAsDouble(static_cast<int32_t*>(data), count, ranks);
    case DataType::kI64:
      return DivideWide(static_cast<int64_t*>(data), count, ranks);
    case DataType::kU64:
      return DivideWide(static_cast<uint64_t*>(data), count, ranks);
    case DataType::kF32:
      return DivideReal(static_cast<float*>(data), count, ranks);
    case DataType::kF64:
      return DivideReal(static_cast<double*>(data), count, ranks);
    case DataType::kF16:
    case DataType::kBF16:
      return;  // not a WorkType
  }
}

// Half to float and back after F. Giesen, "Float->half variants" (public domain): exact, and to nearest even.
// All three cases are computed and one is taken: no branches. A NaN keeps its sign and upper bits and becomes
// a quiet one, as F16C does it.
inline float FromHalf(uint16_t bits) {
  constexpr uint32_t kExponent = 0x7c00u << 13;
  constexpr uint32_t kQuiet = 0x00400000u;
  constexpr float kDenormalBase = 0x1p-14f;
  const uint32_t moved = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t exponent = moved & kExponent;
  const uint32_t normal = moved + ((127u - 15u) << 23);
  const uint32_t special = (moved + ((255u - 31u) << 23)) | (moved > kExponent ? kQuiet : 0u);
  const uint32_t denormal =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, moved + (113u << 23)) - kDenormalBase);
  const uint32_t finite = exponent == 0 ? denormal : normal;
  const uint32_t out = exponent == kExponent ? special : finite;
  return __builtin_bit_cast(float, out | (static_cast<uint32_t>(bits & 0x8000u) << 16));
}

inline uint16_t ToHalf(float value) {
  constexpr uint32_t kInfinity = 255u << 23;
  constexpr uint32_t kTooLarge = (127u + 16u) << 23;
  constexpr uint32_t kSmallestNormal = 113u << 23;
  constexpr float kDenormalMagic = 0.5f;  // its last place is that of the denormal halves
  const uint32_t all = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = all & 0x80000000u;
  const uint32_t bits = all ^ sign;
  const uint32_t special = bits > kInfinity ? 0x7e00u | ((bits >> 13) & 0x3ffu) : 0x7c00u;
  const uint32_t denormal =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, bits) + kDenormalMagic) - (126u << 23);
  const uint32_t normal = (bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  const uint32_t finite = bits < kSmallestNormal ? denormal : normal;
  const uint32_t out = bits >= kTooLarge ? special : finite;
  return static_cast<uint16_t>(out | (sign >> 16));
}

inline float FromBFloat(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}

// Rounding a NaN could carry it into infinity.
inline uint16_t ToBFloat(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

#if defined(MUSTER_REDUCE_F16C)
// Eight at a time by the processor's own instructions; gives how many were done.
inline size_t WidenHalves(const uint16_t* in, float* out, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
  }
  return i;
}
inline size_t NarrowHalves(const float* in, uint16_t* out, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), halves);
  }
  return i;
}
#else
inline size_t WidenHalves(const uint16_t*, float*, size_t) { return 0; }
inline size_t NarrowHalves(const float*, uint16_t*, size_t) { return 0; }
#endif

void WidenAny(DataType type, const void* narrow, float* wide, size_t count) {
  const uint16_t* in = static_cast<const uint16_t*>(narrow);
  if (type == DataType::kF16) {
    for (size_t i = WidenHalves(in, wide, count); i < count; ++i) wide[i] = FromHalf(in[i]);
  } else {
    for (size_t i = 0; i < count; ++i) wide[i] = FromBFloat(in[i]);
  }
}

void NarrowAny(DataType type, const float* wide, void* narrow, size_t count) {
  uint16_t* out = static_cast<uint16_t*>(narrow);
  if (type == DataType::kF16) {
    for (size_t i = NarrowHalves(wide, out, count); i < count; ++i) out[i] = ToHalf(wide[i]);
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = ToBFloat(wide[i]);
  }
}

// NOLINTEND(misc-definitions-in-headers,misc-redundant-expression)

}  // namespace
}  // namespace muster::socket
