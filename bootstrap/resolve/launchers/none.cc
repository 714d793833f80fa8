// No launcher started this process: a world of one. Inside an allocation of more than one task only on
// request.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/allocation.h"

namespace muster::resolve {
namespace {

Probed ProbeNone(const Environment& environment, const ProbeContext& context) {
  const auto allocation = FindAllocation(environment);
  if (!context.forced && allocation && !IsSingleTask(*allocation, environment)) {
    return Absent{fmt::format("{} job {} is more than one task", allocation->manager, allocation->job_id)};
  }
  Candidate candidate;
  RankTuple& tuple = candidate.tuple;
  tuple.launcher = "none";
  candidate.sources = {{"rank", "(no launcher)", {}}, {"world_size", "(no launcher)", {}}};
  if (allocation) {
    tuple.job.id = allocation->job_id;
    tuple.node = allocation->node;
    if (tuple.node) candidate.sources.push_back({"node", "SLURMD_NODENAME", {}});
  }
  tuple.job.key = JobKey("none", tuple.job);
  return candidate;
}

}  // namespace

constinit const Launcher kNoneLauncher{
    .name = "none",
    .probe = ProbeNone,
    .tested = "no launcher",
    .note = "a world of one",
    .role = LauncherRole::kAlone,
    .meets = Meets::kNowhere,
    .has_signature = false,
};

}  // namespace muster::resolve
