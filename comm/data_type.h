// Element types and reductions of the collectives, with the properties that both backends need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

enum class DataType : uint8_t { kI8, kU8, kI32, kI64, kU64, kF16, kBF16, kF32, kF64 };
enum class ReduceOp : uint8_t { kSum, kProd, kMin, kMax, kAvg };

// IEEE half precision and bfloat16 in their memory format; arithmetic happens in float.
struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

size_t SizeOf(DataType type);               // bytes per element
std::string_view Name(DataType type);       // "f32"
std::string_view Name(ReduceOp operation);  // "sum"

template <typename T>
inline constexpr bool kAlwaysFalse = false;

template <typename T>
constexpr DataType DataTypeOf() {
  if constexpr (__is_same(T, int8_t)) {
    return DataType::kI8;
  } else if constexpr (__is_same(T, uint8_t)) {
    return DataType::kU8;
  } else if constexpr (__is_same(T, int32_t)) {
    return DataType::kI32;
  } else if constexpr (__is_same(T, int64_t)) {
    return DataType::kI64;
  } else if constexpr (__is_same(T, uint64_t)) {
    return DataType::kU64;
  } else if constexpr (__is_same(T, Half)) {
    return DataType::kF16;
  } else if constexpr (__is_same(T, BFloat16)) {
    return DataType::kBF16;
  } else if constexpr (__is_same(T, float)) {
    return DataType::kF32;
  } else if constexpr (__is_same(T, double)) {
    return DataType::kF64;
  } else {
    static_assert(kAlwaysFalse<T>, "not an element type of the collectives");
  }
}

}  // namespace muster
