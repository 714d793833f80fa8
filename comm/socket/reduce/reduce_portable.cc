// The loops for any processor; on aarch64 that includes NEON.

#include "comm/socket/reduce/reduce_variants.h"
// After all other includes: the header has the reason.
#include "comm/socket/reduce/reduce_loops.h"

namespace muster::socket::reduce_variants {

const ReduceVariant kPortable = {"portable", CombineAny, DivideAny, WidenAny, NarrowAny};

}  // namespace muster::socket::reduce_variants
