// The paths of muster-slurm and Slurm's own commands, and their environment. Pure, except for the name of
// this program's file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/environment/environment.h"

namespace muster::slurm {

// NAME=VALUE of all variables but the job secret: they query only Slurm, and need no secret for that.
std::vector<std::string> VariablesForHelper(const Environment& environment);

// NAME in the directories of PATH, not in the working directory or below it (an empty entry, "."): another
// user may have put something there.
std::vector<std::string> AbsoluteCandidates(std::string_view name, const std::vector<std::string>& variables);

// The files to try in order. `asked`: rendezvous.slurm_helper, a path or a name; without it muster-slurm beside
// this program first, for the two are built and copied together.
std::vector<std::string> HelperFiles(const std::optional<std::string>& asked,
                                     const std::vector<std::string>& variables);

}  // namespace muster::slurm
