// Every operation of a communicator on device memory, against a float64 reference on random data.
#pragma once

#include <cstddef>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "tests/gpu/device.h"

namespace muster {

// Collective: all ranks make the same calls. The number of results that were compared on this rank. Error:
// the call's, or kInternal: which operation gave what instead of what.
Result<size_t> CheckOnDevice(Communicator& group, const Device& device);

}  // namespace muster
