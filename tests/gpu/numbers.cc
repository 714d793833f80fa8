#include "tests/gpu/numbers.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "comm/socket/reduce/elements.h"

namespace muster {
namespace {

bool IsFloat(DataType type) {
  return type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kF32 ||
         type == DataType::kF64;
}

bool IsUnsigned(DataType type) { return type == DataType::kU8 || type == DataType::kU64; }

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
  Bytes bytes(values.size() * SizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) socket::SetElement(type, bytes.data(), i, values[i]);
  return bytes;
}

Values Unpack(DataType type, const Bytes& bytes) {
  Values values(bytes.size() / SizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) values[i] = socket::GetElement(type, bytes.data(), i);
  return values;
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
