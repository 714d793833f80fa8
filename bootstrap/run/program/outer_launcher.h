// The variables of the launcher above a supervisor that starts several ranks. To that launcher they all are
// one process: its values for this process are true of none of them. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bootstrap/environment/outer_variables.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "comm/roster.h"

namespace muster::run {

// Of every launcher, and of what else sets a rank.
std::vector<OuterVariable> OuterVariables(const resolve::LauncherTable& launchers = resolve::Launchers());

// Rewrites `variables` for `rank`. Values of Slurm or another launcher are kept in MUSTER_OUTER_NAME, except
// removed variables that are not Slurm's. In a Slurm job the variables of a task are also set if there were
// none (a salloc shell), because programs take SLURM_JOB_ID alone for a task of srun.
void RewriteForRank(const Roster& roster, int rank,
                    std::map<std::string, std::string, std::less<>>& variables,
                    const resolve::LauncherTable& launchers = resolve::Launchers());

}  // namespace muster::run
