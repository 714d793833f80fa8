// Slurm as a Scheduler: runs muster-slurm, for launches whose ranks Slurm itself has started.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/detect.h"
#include "comm/options.h"
#include "comm/rendezvous/join/scheduler.h"

namespace muster::slurm {

// `helper`: rendezvous.slurm_helper. Null if Slurm has not started these ranks, or the helper is "none".
// `placement`: from the environment. `timeouts` as configured, not cut.
std::shared_ptr<const rendezvous::Scheduler> MakeSlurmScheduler(const Environment& environment,
                                                                const resolve::Resolution& resolution,
                                                                const Placement& placement,
                                                                const std::optional<std::string>& helper,
                                                                const TimeoutOptions& timeouts);

}  // namespace muster::slurm
