// The variables of the launcher above a supervisor that starts several ranks. To that launcher they all are
// one process: what it set for this process is not true of any of them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "comm/roster.h"

namespace muster::run {

// What a variable is in each rank's environment.
enum class Becomes : uint8_t {
  kNothing,  // removed: no value is true of several ranks
  kRank,
  kWorldSize,
  kLocalRank,
  kLocalSize,
  kNodeRank,     // only where the group has another number of nodes than the step
  kNumNodes,     // likewise
  kNodeNames,    // likewise
  kRanksOfNode,  // "4,5,6,7"
  kRanksByNode,  // "4(x3)"
  kShareOfCpus,  // of a count of CPUs: divided by the ranks of this process; less than one: removed
};

struct OuterVariable {
  std::string_view name;  // ending in *: every variable that begins so
  Becomes becomes;
  std::string_view why;
};
std::span<const OuterVariable> OuterVariables();

// Rewrites `variables` for `rank`. What Slurm or another launcher had set is kept in MUSTER_OUTER_NAME, but
// for what is removed and not Slurm's. In a Slurm job the variables of a task are set also where there were
// none (a salloc shell), because programs take SLURM_JOB_ID alone for a task of srun.
void RewriteForRank(const Roster& roster, int rank,
                    std::map<std::string, std::string, std::less<>>& variables);

}  // namespace muster::run
