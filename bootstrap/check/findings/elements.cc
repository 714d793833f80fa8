#include "bootstrap/check/findings/elements.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace muster::check {
namespace {

constexpr int kHalfMantissa = 10, kHalfBias = 15, kFloatMantissa = 23, kFloatBias = 127;

// Of whole numbers that f16 holds exactly.
uint16_t ToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value == 0) return 0;
  const uint32_t exponent = (bits >> kFloatMantissa & 0xff) + kHalfBias - kFloatBias;
  const uint32_t mantissa = (bits & 0x7fffff) >> (kFloatMantissa - kHalfMantissa);
  return static_cast<uint16_t>(bits >> 31 << 15 | exponent << kHalfMantissa | mantissa);
}

double FromHalf(uint16_t bits) {
  const uint32_t exponent = bits >> kHalfMantissa & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 0x1f) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * mantissa * 0x1p-24;
  return sign * std::bit_cast<float>((exponent + kFloatBias - kHalfBias) << kFloatMantissa |
                                     mantissa << (kFloatMantissa - kHalfMantissa));
}

template <typename T>
void Put(Bytes& bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
T Take(const Bytes& bytes, size_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

void Elements::Set(size_t index, int64_t value) {
  const auto real = static_cast<float>(value);
  switch (type_) {
    case DataType::kI8:
    case DataType::kU8:
      return Put(bytes_, index, static_cast<uint8_t>(value));
    case DataType::kI32:
      return Put(bytes_, index, static_cast<int32_t>(value));
    case DataType::kI64:
    case DataType::kU64:
      return Put(bytes_, index, value);
    case DataType::kF16:
      return Put(bytes_, index, ToHalf(real));
    case DataType::kBF16:
      return Put(bytes_, index, static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16));
    case DataType::kF32:
      return Put(bytes_, index, real);
    case DataType::kF64:
      return Put(bytes_, index, static_cast<double>(value));
  }
}

double Elements::Get(size_t index) const {
  switch (type_) {
    case DataType::kI8:
      return Take<int8_t>(bytes_, index);
    case DataType::kU8:
      return Take<uint8_t>(bytes_, index);
    case DataType::kI32:
      return Take<int32_t>(bytes_, index);
    case DataType::kI64:
      return static_cast<double>(Take<int64_t>(bytes_, index));
    case DataType::kU64:
      return static_cast<double>(Take<uint64_t>(bytes_, index));
    case DataType::kF16:
      return FromHalf(Take<uint16_t>(bytes_, index));
    case DataType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(Take<uint16_t>(bytes_, index)) << 16);
    case DataType::kF32:
      return Take<float>(bytes_, index);
    case DataType::kF64:
      return Take<double>(bytes_, index);
  }
  return NAN;
}

}  // namespace muster::check
