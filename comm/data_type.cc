#include "comm/data_type.h"

#include <array>

namespace muster {
namespace {

struct TypeFacts {
  std::string_view name;
  size_t size;
};
constexpr std::array<TypeFacts, 9> kTypes = {{{"i8", 1},
                                              {"u8", 1},
                                              {"i32", 4},
                                              {"i64", 8},
                                              {"u64", 8},
                                              {"f16", 2},
                                              {"bf16", 2},
                                              {"f32", 4},
                                              {"f64", 8}}};
constexpr std::array<std::string_view, 5> kOperations = {"sum", "prod", "min", "max", "avg"};

}  // namespace

size_t SizeOf(DataType type) { return kTypes.at(static_cast<size_t>(type)).size; }
std::string_view Name(DataType type) { return kTypes.at(static_cast<size_t>(type)).name; }
std::string_view Name(ReduceOp operation) { return kOperations.at(static_cast<size_t>(operation)); }

}  // namespace muster
