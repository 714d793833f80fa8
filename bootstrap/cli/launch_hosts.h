// `muster launch --hosts FILE`, the side that starts the others.
#pragma once

#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/launch_flags.h"
#include "bootstrap/environment/environment.h"

namespace muster::cli {

// BLOCKS until all machines' ranks have ended; their exit status. Error: before anything was started.
Result<int> LaunchOnHosts(const Environment& environment, const join::StartOptions& asked,
                          const config::EffectiveConfig& effective, const LaunchFlags& launch);

}  // namespace muster::cli
