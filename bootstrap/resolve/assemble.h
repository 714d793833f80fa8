// The winner's candidate -> Resolution: what it does not define at all is filled in from launchers that
// describe the same world (each borrow recorded), from the node's name, and from plain arithmetic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {

struct Surroundings {
  std::vector<const Candidate*> same;      // other views of the winner's world, in order
  std::vector<const Candidate*> carriers;  // outer launchers
  bool node_name_is_ours = true;           // SLURMD_NODENAME is not left over from elsewhere
  bool master_is_ours = true;              // nor are MASTER_ADDR and MASTER_PORT
};

// considered and allocation are the caller's.
Resolution Assemble(const Candidate& winner, const Surroundings& surroundings, const Environment& environment,
                    const LauncherTable& launchers);

// How to force this launcher, for hints.
std::string Force(std::string_view name);

// "SLURM_PROCID"; empty if the rank comes from no variable.
std::string RankVariable(const Candidate& candidate);

// "rank 0 of 4 (RANK=0, WORLD_SIZE=4)".
std::string Describe(const Candidate& candidate);

}  // namespace muster::resolve
