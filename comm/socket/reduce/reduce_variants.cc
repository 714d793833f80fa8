#include "comm/socket/reduce/reduce_variants.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>

namespace muster::socket {
namespace {

#if defined(__x86_64__)
constexpr std::array<const ReduceVariant*, 2> kVariants = {&reduce_variants::kPortable,
                                                           &reduce_variants::kAvx2};

// Bits 1 and 2: the system saves the SSE and AVX registers (Intel SDM vol. 1, 14.3).
bool SystemSavesAvx() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 6) == 6;
}

// __builtin_cpu_supports would run in a constructor: 50 us in a virtual machine, in every process, and most
// never reduce.
bool HasAvx2() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kWanted = bit_AVX | bit_OSXSAVE | bit_F16C;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kWanted) != kWanted || !SystemSavesAvx()) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
}

size_t CountUsable() { return HasAvx2() ? 2 : 1; }
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

}  // namespace muster::socket
