// A worker of Ray Train, which sets all but the first inside itself, while it runs
// (ray/train/v2/torch/config.py):
//   RAY_JOB_ID; RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT
// Ray orders the nodes itself.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

Probed ProbeRay(const Environment& environment, const ProbeContext& context) {
  if (!environment.Has("RAY_JOB_ID")) return Absent{"no RAY_JOB_ID"};
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"}) {
    if (!environment.Has(name))
      return Absent{fmt::format("RAY_JOB_ID is set without {}: no worker of Ray Train", name)};
  }
  if (!context.forced && HasTorchLauncher(environment)) return Absent{"RANK is another launcher's"};
  return ProbeTorchRow(environment, kRayLauncher.row());
}

}  // namespace

constinit const Launcher kRayLauncher{
    .name = "ray",
    .probe = ProbeRay,
    .tested = "Ray Train (`tests/run --long`)",
    .tuple = kTorchVariablesByNodeRank,
    .job_id = "RAY_JOB_ID",
    .note = "Ray Train sets them inside the worker",
    .meets = Meets::kMaster,
    .orders_nodes = true,
    .rare = true,
};

}  // namespace muster::resolve
