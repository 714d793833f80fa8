// A supervisor that starts several ranks rewrites the variables of the launcher above it, so that they are
// true of each rank (bootstrap/run/program/outer_launcher.h). The value that the launcher set is kept in
// MUSTER_OUTER_NAME.
#pragma once

#include <cstdint>
#include <string_view>

#include "bootstrap/environment/environment.h"

namespace muster {

inline constexpr std::string_view kOuterPrefix = "MUSTER_OUTER_";

// Slurm's variables here are a supervisor's, and Slurm has started nothing since. SLURM_TASK_PID cannot be
// true of several ranks and is removed. A step, a batch script or a job that starts further inside sets it
// again, with an id of its own.
bool SlurmIsRewritten(const Environment::Variables& variables);

// The value of a variable in each rank's environment.
enum class Becomes : uint8_t {
  kNothing,  // removed: no value is true of several ranks
  kRank,
  kWorldSize,
  kLocalRank,
  kLocalSize,
  kNodeRank,     // only if the group has another number of nodes than the step
  kNumNodes,     // likewise
  kNodeNames,    // likewise
  kRanksOfNode,  // "4,5,6,7"
  kRanksByNode,  // "4(x3)"
  kShareOfCpus,  // of a count of CPUs: divided by the ranks of this process; less than one: removed
};

// A variable of an outer launcher, for a supervisor that starts several ranks.
struct OuterVariable {
  std::string_view name;  // ending in *: every variable that begins so
  Becomes becomes;
  std::string_view why;
};

// A variable that no program under a supervisor inherits.
struct RemovedVariable {
  std::string_view name;
  std::string_view why;
};

}  // namespace muster
