// What the configuration and the environment say about the data plane.
#pragma once

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "comm/init/init.h"

namespace muster::join {

// `timeouts` as they are in effect. Looks at this node's interfaces; does not block.
DataOptions MakeDataOptions(const Environment& environment, const config::Config& config,
                            const TimeoutOptions& timeouts);

// Where this process is to look for the libraries of NCCL and CUDA.
nccl::LibraryPlaces LibraryPlacesIn(const Environment& environment);

}  // namespace muster::join
