// The batch jobs of Slurm, PBS, LSF, Flux and Grid Engine around a process. A supervisor records its own for its programs: a
// process of another job has inherited the record, and is not one of them.
#pragma once

#include <string>

#include "bootstrap/environment/environment.h"

namespace muster {

inline constexpr std::string_view kBatchJobRecord = "MUSTER_BATCH_JOB";

// "PBS_JOBID=7.server SLURM_JOB_ID=9"; "none".
std::string BatchJobs(const Environment::Variables& variables);

// This process is in a batch job, and in none of the recorded ones. False: nothing was recorded.
bool IsOfAnotherBatchJob(const Environment& environment);

}  // namespace muster
