#include "comm/socket/reduce_variants.h"

#include <array>

namespace muster {
namespace {

#if defined(__x86_64__)
constexpr std::array<const ReduceVariant*, 2> kVariants = {&reduce_variants::kPortable,
                                                           &reduce_variants::kAvx2};
size_t CountUsable() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") ? 2 : 1; }
#else
constexpr std::array<const ReduceVariant*, 1> kVariants = {&reduce_variants::kPortable};
size_t CountUsable() { return 1; }
#endif

}  // namespace

std::span<const ReduceVariant* const> UsableReduceVariants() {
  return std::span(kVariants).first(CountUsable());
}

const ReduceVariant& BestReduceVariant() {
  static const ReduceVariant& best = *UsableReduceVariants().back();
  return best;
}

}  // namespace muster
