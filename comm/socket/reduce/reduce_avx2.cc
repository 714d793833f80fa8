// The loops for x86-64 processors with AVX2 and F16C (Intel since 2013, AMD since 2015). Wider vectors gain
// nothing: the data comes from memory or a socket, which is slower than this.
#if defined(__x86_64__)
#include <immintrin.h>

#include "comm/socket/reduce/reduce_variants.h"

// For everything from here on, and for nothing that was included before: a function of the standard library
// compiled with these could be the one that the linker keeps for all.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,f16c")
#endif
#define MUSTER_REDUCE_F16C
#include "comm/socket/reduce/reduce_loops.h"

namespace muster::socket::reduce_variants {

const ReduceVariant kAvx2 = {"avx2", CombineAny, DivideAny, WidenAny, NarrowAny};

}  // namespace muster::socket::reduce_variants

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
