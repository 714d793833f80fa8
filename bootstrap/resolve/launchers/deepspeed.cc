// DeepSpeed's launch.py: RANK WORLD_SIZE LOCAL_RANK LOCAL_SIZE CROSS_RANK (node) CROSS_SIZE (nodes)
// MASTER_ADDR MASTER_PORT.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

Probed ProbeDeepspeed(const Environment& environment, const ProbeContext&) {
  if (!environment.Has("CROSS_RANK")) return Absent{"no CROSS_RANK"};
  if (!environment.Has("RANK") || !environment.Has("LOCAL_RANK")) {
    return Absent{"CROSS_RANK is set without RANK and LOCAL_RANK: not a worker of DeepSpeed's launch.py"};
  }
  if (HasTorchrun(environment)) return Absent{"RANK is torchrun's"};
  return ProbeTorchRow(environment, kDeepspeedLauncher.row());
}

constexpr OuterVariable kPerRank[] = {
    {"LOCAL_SIZE", Becomes::kNothing, "DeepSpeed"},
    {"CROSS_RANK", Becomes::kNothing, "DeepSpeed"},
    {"CROSS_SIZE", Becomes::kNothing, "DeepSpeed"},
};

}  // namespace

constinit const Launcher kDeepspeedLauncher{
    .name = "deepspeed",
    .probe = ProbeDeepspeed,
    .tested = "DeepSpeed's launch.py",
    .tuple = {.rank = "RANK",
              .world_size = "WORLD_SIZE",
              .local_rank = "LOCAL_RANK",
              .local_world_size = "LOCAL_SIZE",
              .node_rank = "CROSS_RANK",
              .num_nodes = "CROSS_SIZE"},
    .per_rank = kPerRank,
    .meets = Meets::kMaster,
};

}  // namespace muster::resolve
