// Whether Slurm's step variables are this process's own. sbatch and salloc called from inside a step pass its
// variables on to the new job, so that SLURM_STEP_ID alone proves nothing.
#pragma once

#include <optional>
#include <string>

#include "bootstrap/environment/environment.h"
#include "comm/base/error.h"
#include "comm/rank_tuple.h"

namespace muster::resolve {

// Why this process is not below the slurmstepd of the step that the variables name; nullopt: it is, or none is visible.
std::optional<std::string> WhyNotBelow(const Environment& environment);

// Why the step variables are left over from another step; nullopt: no evidence against them. `tuple` is their
// content. Tests: slurm.h's special step ids, SLURMD_NODENAME in the step, the step's nodes in the job,
// counts that add up. Error: kBadEnvironment: unreadable.
Result<std::optional<std::string>> WhyNotThisStep(const Environment& environment, const RankTuple& tuple);

// SLURM_PROCID, SLURM_LOCALID and SLURM_GTIDS agree. Error: kBadEnvironment naming them.
Status CheckTaskIds(const Environment& environment, const RankTuple& tuple);

}  // namespace muster::resolve
