// Which ranks of a Slurm step run on which node, from the environment alone.
#pragma once

#include "bootstrap/environment/environment.h"
#include "comm/base/error.h"
#include "comm/meeting.h"

namespace muster::resolve {

// The nodes of this process's step in the order of SLURM_STEP_NODELIST, with their task counts. node_of_rank
// if the layout is block, cyclic or plane and agrees with this process's own node. Never for arbitrary or
// heterogeneous steps, whose node order the list does not keep. Error: kBadEnvironment.
Result<Placement> PlacementOfSlurmStep(const Environment& environment);

// The nodes of the whole job, task counts unknown: candidates for rank 0 of an mpirun. Empty: no Slurm job.
// In a step of an allocation, SLURM_JOB_NODELIST of Slurm 26.05 lists the step's nodes only; SLURM_NODELIST
// still lists the job's.
Result<Placement> NodesOfSlurmJob(const Environment& environment);

}  // namespace muster::resolve
