#include "tests/gpu/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "comm/socket/reduce/reduce_kernels.h"

namespace muster {
namespace {

bool IsFloat(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kF32 ||
         type == DataType::kF64;
}

bool IsUnsigned(DataType type) { return type == DataType::kU8 || type == DataType::kU64; }

template <typename T>
Bytes PackAs(const Values& values) {
  Bytes bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
  }
  return bytes;
}

template <typename T>
Values UnpackAs(const Bytes& bytes) {
  Values values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T element{};
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    values[i] = static_cast<double>(element);
  }
  return values;
}

double CutOff(double value) { return static_cast<double>(static_cast<int64_t>(value)); }

double Combine(ReduceOp operation, double a, double b) {
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

Bytes Pack(DataType type, const Values& values) {
  switch (type) {
    case DataType::kI8:
      return PackAs<int8_t>(values);
    case DataType::kU8:
      return PackAs<uint8_t>(values);
    case DataType::kI32:
      return PackAs<int32_t>(values);
    case DataType::kI64:
      return PackAs<int64_t>(values);
    case DataType::kU64:
      return PackAs<uint64_t>(values);
    case DataType::kF32:
      return PackAs<float>(values);
    case DataType::kF64:
      return PackAs<double>(values);
    default: {
      const std::vector<float> wide(values.begin(), values.end());
      Bytes bytes(values.size() * SizeOf(type));
      socket::Narrow(type, wide.data(), bytes.data(), wide.size());
      return bytes;
    }
  }
}

Values Unpack(DataType type, const Bytes& bytes) {
  switch (type) {
    case DataType::kI8:
      return UnpackAs<int8_t>(bytes);
    case DataType::kU8:
      return UnpackAs<uint8_t>(bytes);
    case DataType::kI32:
      return UnpackAs<int32_t>(bytes);
    case DataType::kI64:
      return UnpackAs<int64_t>(bytes);
    case DataType::kU64:
      return UnpackAs<uint64_t>(bytes);
    case DataType::kF32:
      return UnpackAs<float>(bytes);
    case DataType::kF64:
      return UnpackAs<double>(bytes);
    default: {
      std::vector<float> wide(bytes.size() / SizeOf(type));
      socket::Widen(type, bytes.data(), wide.data(), wide.size());
      return {wide.begin(), wide.end()};
    }
  }
}

Values RandomValues(DataType type, uint64_t seed, int rank, size_t count) {
  std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(rank));
  std::uniform_real_distribution<double> reals(-1.5, 1.5);
  std::uniform_int_distribution<int> whole(IsUnsigned(type) ? 0 : -3, 3);
  Values values(count);
  for (double& value : values) value = IsFloat(type) ? reals(random) : whole(random);
  return Unpack(type, Pack(type, values));
}

Values Reduced(DataType type, ReduceOp operation, uint64_t seed, int ranks, size_t count) {
  Values result = RandomValues(type, seed, 0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const Values more = RandomValues(type, seed, rank, count);
    for (size_t i = 0; i < count; ++i) result[i] = Combine(operation, result[i], more[i]);
  }
  if (operation != ReduceOp::kAvg) return result;
  for (double& value : result) value = IsFloat(type) ? value / ranks : CutOff(value / ranks);
  return result;
}

double Tolerance(DataType type, bool averaged) {
  switch (type) {
    case DataType::kF16:
      return 1e-2;
    case DataType::kBF16:
      return 8e-2;
    case DataType::kF32:
      return 4e-6;
    case DataType::kF64:
      return 1e-14;
    default:
      return averaged ? 1 : 0;
  }
}

Status Compare(std::string_view what, const Values& got, const Values& wanted, double tolerance) {
  if (got.size() != wanted.size()) {
    return Fail(Code::kInternal, "{}: {} elements, not {}", what, got.size(), wanted.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    // Not a number is wrong as well.
    if (std::abs(got[i] - wanted[i]) <= tolerance) continue;
    return Fail(Code::kInternal, "{}: element {} of {} is {}, not {}", what, i, got.size(), got[i],
                wanted[i]);
  }
  return {};
}

}  // namespace muster
