// How many files and sockets this process may have open at once.
#pragma once

#include <cstdint>

#include "comm/base/error.h"

namespace muster::tcp_store {

// Raises the soft limit to the hard one, which needs no rights; the limit that holds now. For the whole
// process, and what it starts inherits it. Error: kSystem.
Result<uint64_t> RaiseDescriptorLimit();

}  // namespace muster::tcp_store
