// The few readings of Slurm's variables that more than one file needs. Facts: src/common/env.c of
// Slurm 25.11.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "comm/base/error.h"

namespace muster::resolve {

// SLURM_JOB_ID, else its old name SLURM_JOBID; of a heterogeneous job the leader's, in all components.
std::optional<std::string_view> SlurmJobId(const Environment& environment);

// SLURM_STEP_ID, else SLURM_STEPID. Error: kBadEnvironment: not a number, or the two differ.
Result<std::optional<int64_t>> SlurmStepId(const Environment& environment);

// Interactive, batch, extern and pending steps have ids from 0xfffffff0 (negative if printed as an int).
bool IsSpecialStep(int64_t step);

// SLURM_HET_SIZE, else its old name SLURM_PACK_SIZE, with this job among the components. Not *_GROUP_0 alone: 22.05 sets
// those in ordinary steps.
bool IsHeterogeneous(const Environment& environment);

// `job` is this job's id or, of a heterogeneous job, one of its components'.
bool IsThisSlurmJob(const Environment& environment, std::string_view job);

// "J.S" at the end of PMI_JOBID=7.0 and PMIX_NAMESPACE=slurm.pmix.7.0 is of another job or step than this
// environment's.
bool NamesAnotherSlurmStep(const Environment& environment, std::string_view text);

// SLURM_GTIDS: the ranks of this step on this node, comma-separated, ascending. Error: kBadEnvironment.
Result<std::vector<int>> ParseTaskIds(std::string_view text);

// SLURM_JOB_NODELIST, else SLURM_NODELIST (the job's as well, also in a step).
std::optional<std::string_view> SlurmJobNodelist(const Environment& environment);

}  // namespace muster::resolve
