// A supervisor that starts several ranks rewrites the variables of the launcher above it, so that they are
// true of each rank (bootstrap/run/outer_launcher.h). The value that the launcher set is kept in
// MUSTER_OUTER_NAME.
#pragma once

#include <string_view>

#include "bootstrap/environment/environment.h"

namespace muster {

inline constexpr std::string_view kOuterPrefix = "MUSTER_OUTER_";

// Slurm's variables here are a supervisor's, and Slurm has started nothing since. SLURM_TASK_PID cannot be
// true of several ranks and is removed; a step, a batch script or a job that starts further inside sets it
// again, with an id of its own.
bool SlurmIsRewritten(const Environment::Variables& variables);

}  // namespace muster
