// Variables that are older than the job or step: a user, a submitter or a supervisor that has ended has set them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/entry.h"
#include "bootstrap/resolve/slurm/allocation.h"
#include "comm/base/error.h"
#include "comm/rank_tuple.h"

namespace muster::resolve {

// Warnings about a winner whose variables may be older. `slurm`: the entry of the step's tasks. `allocation`: absent if
// this process is one of them.
std::vector<std::string> WarningsOfLeftOver(const Entry& winner, const Entry& slurm,
                                            const std::optional<Allocation>& allocation,
                                            const Environment& environment);

// A MUSTER_CONTROL that does not answer. Below another launcher and in another batch job it is left over. Else this process
// may be a program of that `muster run`, in a container that hides the supervisor: as a world of one, each of N programs
// would do all the work.
//
// Why `winner` is not this process's tuple; null: no launcher gives one. nullopt: the supervisor's variables are left over.
// `owner`: the other user to whom MUSTER_CONTROL belongs, if it exists. Error: kBadEnvironment.
std::optional<Error> LostSupervisor(const Environment& environment,
                                    const std::optional<Allocation>& allocation, const RankTuple* winner,
                                    std::optional<uid_t> owner);

}  // namespace muster::resolve
