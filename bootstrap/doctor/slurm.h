// Slurm's commands and muster's own helper for it.
#pragma once

#include <optional>
#include <string>

#include "bootstrap/doctor/finding.h"
#include "bootstrap/environment/environment.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::doctor {

struct SlurmFacts {
  Result<std::string> version;  // "slurm 23.11.4", of srun
  Status helper;                // muster-slurm runs
  std::string job;              // SLURM_JOB_ID; empty: not in a job
};

// Starts `srun --version` and `muster-slurm --help`. BLOCKS until both have ended, for each at most `each`.
// `helper`: rendezvous.slurm_helper.
SlurmFacts LookAtSlurm(const Environment& environment, const std::optional<std::string>& helper,
                       Duration each);

Finding JudgeSlurm(const SlurmFacts& facts);

}  // namespace muster::doctor
