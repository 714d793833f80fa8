#include "bootstrap/resolve/left_over.h"

#include <fmt/core.h>

#include <string>

#include "bootstrap/environment/batch_job.h"
#include "bootstrap/resolve/assemble.h"
#include "bootstrap/resolve/containment.h"
#include "bootstrap/resolve/launchers/launchers.h"

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

// The supervisor's launch, and this process's rank in it.
struct Claim {
  std::string_view key;
  int rank = 0;
  int world_size = 0;
};

// The directory in which private directories are: /dev/shm of /dev/shm/muster-0-0-0/control-1.
std::string BaseOf(std::string_view control) {
  const std::string_view directory = control.substr(0, control.rfind('/'));
  const std::string_view base = directory.substr(0, directory.rfind('/'));
  return std::string(control.starts_with('/') && !base.empty() ? base : "/dev/shm");
}

// Batch systems pass the variables on. A supervisor of an older release has recorded no job: then there is its key,
// "slurm:13.0:0", and what the task of a batch script was started with.
bool IsOfAnotherJob(const Environment& environment, std::string_view key,
                    const std::optional<Allocation>& allocation) {
  if (environment.live() && environment.process()->below_supervisor == false) return true;
  if (IsOfAnotherBatchJob(environment)) return true;
  if (IsOlderThanTheTask(Launchers().With(LauncherRole::kSupervisor), environment)) return true;
  return allocation && key.starts_with(allocation->manager + ":") &&
         !key.starts_with(fmt::format("{}:{}.", allocation->manager, allocation->job_id));
}

// The key is of one launch, and not of a batch job, a run id that users write, or a node.
bool NamesOneLaunch(const Launcher& launcher, const JobIdentity& job) {
  if (launcher.role == LauncherRole::kSlurm) return !job.step.empty();
  return launcher.role == LauncherRole::kLauncher && !job.id.empty() && !launcher.shares_job_id &&
         !launcher.NamesMaster();
}

// A launch is over when its supervisors are.
bool IsSameLaunch(const Environment& environment, const RankTuple& winner, const Claim& claim) {
  return NamesOneLaunch(Launchers().Of(winner.launcher), winner.job) && winner.job.key == claim.key &&
         winner.rank == claim.rank && winner.world_size == claim.world_size &&
         !IsOfAnotherBatchJob(environment);
}

}  // namespace

std::vector<std::string> WarningsOfLeftOver(const Entry& winner, const Entry& slurm,
                                            const std::optional<Allocation>& allocation,
                                            const Environment& environment) {
  const bool bare = winner.role() == LauncherRole::kBareTuple;
  std::vector<std::string> warnings;
  const bool by_hand = bare && !environment.Has(winner.launcher->nonce);
  // Containers keep their own tuple and lose the step's.
  if (by_hand && allocation && slurm.incomplete() == nullptr)
    warnings.push_back(SetByHand(winner, *allocation));
  if (bare && slurm.verdict == "carrier" && IsOlderThanTheTask(*winner.launcher, environment))
    warnings.push_back(SetBeforeItsStep(winner, slurm));
  const bool in_script = allocation && std::holds_alternative<Absent>(slurm.probed);
  if (winner.role() == LauncherRole::kLauncher && in_script &&
      MayBeOfTheSubmitter(*winner.launcher, environment))
    warnings.push_back(SetBeforeTheScript(winner, *allocation, environment));
  return warnings;
}

std::optional<Error> LostSupervisor(const Environment& environment,
                                    const std::optional<Allocation>& allocation, const RankTuple* winner,
                                    std::optional<uid_t> owner) {
  const auto rank = environment.GetCount("MUSTER_RANK");
  const auto size = environment.GetCount("MUSTER_WORLD_SIZE");
  const auto control = environment.Get("MUSTER_CONTROL");
  if (!rank || !*rank || !size || !*size || **size == 1 || !control) return std::nullopt;
  const Claim claim{environment.Get("MUSTER_JOB_KEY").value_or(""), **rank, **size};
  const bool is_left_over = winner != nullptr ? !IsSameLaunch(environment, *winner, claim)
                                              : IsOfAnotherJob(environment, claim.key, allocation);
  if (is_left_over) return std::nullopt;
  const std::string tuple =
      fmt::format("MUSTER_RANK={} and MUSTER_WORLD_SIZE={}", claim.rank, claim.world_size);
  const std::string message =
      owner ? fmt::format(
                  "the supervisor at MUSTER_CONTROL={} belongs to another user, uid {}, but this process has "
                  "{}",
                  *control, *owner, tuple)
            : fmt::format("no supervisor answers at MUSTER_CONTROL={}, but this process has {}", *control,
                          tuple);
  const std::string remedy = owner ? fmt::format("run it as that user, such as with --user {}", *owner)
                                   : fmt::format("bind {} into it", BaseOf(*control));
  const std::string alone =
      winner != nullptr ? "" : "; for a world of one: " + Force(Launchers().With(LauncherRole::kAlone).name);
  return Error{
      Code::kBadEnvironment, message,
      fmt::format("in a container: {}; if that muster run has ended: unset RANK, WORLD_SIZE and MUSTER_*{}",
                  remedy, alone)};
}

}  // namespace muster::resolve
