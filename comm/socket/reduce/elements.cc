#include "comm/socket/reduce/elements.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "comm/socket/reduce/reduce_kernels.h"

namespace muster::socket {
namespace {

// visit(T()), T being the type in memory; of f16 and bf16 nothing.
template <typename Visit>
void VisitType(DataType type, const Visit& visit) {
  switch (type) {
    case DataType::kI8:
      return visit(int8_t{});
    case DataType::kU8:
      return visit(uint8_t{});
    case DataType::kI32:
      return visit(int32_t{});
    case DataType::kI64:
      return visit(int64_t{});
    case DataType::kU64:
      return visit(uint64_t{});
    case DataType::kF32:
      return visit(float{});
    case DataType::kF64:
      return visit(double{});
    case DataType::kF16:
    case DataType::kBF16:
      return;
  }
}

}  // namespace

void SetElement(DataType type, void* data, size_t index, double value) {
  auto* const place = static_cast<uint8_t*>(data) + index * SizeOf(type);
  const auto wide = static_cast<float>(value);
  if (WorkType(type) != type) return Narrow(type, &wide, place, 1);
  VisitType(type, [&]<typename T>(T element) {
    if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(static_cast<int64_t>(value));
    } else {
      element = static_cast<T>(value);
    }
    std::memcpy(place, &element, sizeof element);
  });
}

double GetElement(DataType type, const void* data, size_t index) {
  const auto* const place = static_cast<const uint8_t*>(data) + index * SizeOf(type);
  float wide = 0;
  if (WorkType(type) != type) Widen(type, place, &wide, 1);
  double value = wide;
  VisitType(type, [&]<typename T>(T element) {
    std::memcpy(&element, place, sizeof element);
    value = static_cast<double>(element);
  });
  return value;
}

}  // namespace muster::socket
