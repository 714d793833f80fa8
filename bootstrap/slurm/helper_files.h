// The paths of muster-slurm, and the environment of Slurm's commands. Pure, except for the name of
// this program's file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/environment/environment.h"

namespace muster::slurm {

// NAME=VALUE of all variables but the job secret: they query only Slurm, and need no secret for that.
std::vector<std::string> VariablesForHelper(const Environment& environment);

// The files to try in order. `asked`: rendezvous.slurm_helper, a path or a name; without it muster-slurm beside
// this program first, for the two are built and copied together.
std::vector<std::string> HelperFiles(const std::optional<std::string>& asked,
                                     const std::vector<std::string>& variables);

}  // namespace muster::slurm
