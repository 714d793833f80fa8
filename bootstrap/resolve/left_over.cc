#include "bootstrap/resolve/left_over.h"

#include <fmt/core.h>

#include "bootstrap/resolve/assemble.h"
#include "bootstrap/resolve/containment.h"

namespace muster::resolve {
namespace {

std::string NameOf(const Allocation& allocation) {
  return fmt::format("the {} of Slurm job {}", allocation.kind, allocation.job_id);
}

std::string SetByHand(const Entry& winner, const Allocation& allocation) {
  return fmt::format(
      "{} was set by hand in {}: if it was meant for srun, start with srun and do not export it",
      Describe(*winner.candidate()), NameOf(allocation));
}

// A user may start each rank as a step of its own, or have forgotten an export.
std::string SetBeforeItsStep(const Entry& winner, const Entry& slurm) {
  return fmt::format(
      "{} gives {}, as set before Slurm started {}: if it was not meant for this step, do not export it; "
      "without this warning: {}",
      winner.name(), Describe(*winner.candidate()), Describe(*slurm.candidate()), Force(winner.name()));
}

// A launch in the script may have equal numbers, and no variable of this launcher differs in each launch.
std::string SetBeforeTheScript(const Entry& winner, const Allocation& allocation,
                               const Environment& environment) {
  std::string variables;
  for (const std::string_view variable : VariablesOf(*winner.launcher)) {
    if (environment.Has(variable)) variables.append(" ").append(variable);
  }
  return fmt::format(
      "{} gives {}, as set before {} started: if a rank submitted this job, they are its variables; write "
      "in the script: unset{}; without this warning: {}",
      winner.name(), Describe(*winner.candidate()), NameOf(allocation), variables, Force(winner.name()));
}

}  // namespace

std::vector<std::string> WarningsOfLeftOver(const Entry& winner, const Entry& slurm,
                                            const std::optional<Allocation>& allocation,
                                            const Environment& environment) {
  const bool bare = winner.role() == LauncherRole::kBareTuple;
  std::vector<std::string> warnings;
  // Containers keep their own tuple and lose the step's.
  if (bare && allocation && slurm.incomplete() == nullptr) warnings.push_back(SetByHand(winner, *allocation));
  if (bare && slurm.verdict == "carrier" && IsOlderThanTheTask(*winner.launcher, environment))
    warnings.push_back(SetBeforeItsStep(winner, slurm));
  const bool in_script = allocation && std::holds_alternative<Absent>(slurm.probed);
  if (winner.role() == LauncherRole::kLauncher && in_script &&
      MayBeOfTheSubmitter(*winner.launcher, environment))
    warnings.push_back(SetBeforeTheScript(winner, *allocation, environment));
  return warnings;
}

}  // namespace muster::resolve
