// The options of the data plane from configuration and environment.
#pragma once

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "comm/init/init.h"

namespace muster::join {

// `timeouts` as they are in effect. Looks at this node's interfaces; does not block.
DataOptions MakeDataOptions(const Environment& environment, const config::Config& config,
                            const TimeoutOptions& timeouts);

// The folders in which this process searches for the libraries of NCCL and CUDA.
nccl::LibraryPlaces LibraryPlacesIn(const Environment& environment);

}  // namespace muster::join
