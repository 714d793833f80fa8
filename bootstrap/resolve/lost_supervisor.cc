#include "bootstrap/resolve/lost_supervisor.h"

#include <string>

#include "bootstrap/environment/batch_job.h"
#include "bootstrap/resolve/containment.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

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
  if (IsOfAnotherBatchJob(environment)) return true;
  if (IsOlderThanTheTask(Launchers().With(LauncherRole::kSupervisor), environment)) return true;
  return allocation && key.starts_with(allocation->manager + ":") &&
         !key.starts_with(fmt::format("{}:{}.", allocation->manager, allocation->job_id));
}

}  // namespace

std::optional<Error> LostSupervisor(const Environment& environment,
                                    const std::optional<Allocation>& allocation, const RankTuple& winner,
                                    std::string_view alone) {
  const auto rank = environment.GetCount("MUSTER_RANK");
  const auto size = environment.GetCount("MUSTER_WORLD_SIZE");
  const auto control = environment.Get("MUSTER_CONTROL");
  if (!rank || !*rank || !size || !*size || **size == 1 || !control) return std::nullopt;
  const std::string_view key = environment.Get("MUSTER_JOB_KEY").value_or("");
  // A step is over when its supervisors are.
  const bool same_step = !winner.job.step.empty() && winner.job.key == key && winner.rank == **rank &&
                         winner.world_size == **size;
  const bool is_left_over = alone.empty() ? !same_step : IsOfAnotherJob(environment, key, allocation);
  if (is_left_over) return std::nullopt;
  return Error{
      Code::kBadEnvironment,
      fmt::format("no supervisor answers at MUSTER_CONTROL={}, but this process has MUSTER_RANK={} and "
                  "MUSTER_WORLD_SIZE={}",
                  *control, **rank, **size),
      fmt::format("in a container: bind {} into it; if that muster run has ended: unset RANK, WORLD_SIZE "
                  "and MUSTER_*{}{}",
                  BaseOf(*control), alone.empty() ? "" : "; for a world of one: ", alone)};
}

}  // namespace muster::resolve
