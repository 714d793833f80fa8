// A task of a Flux job. From documentation, never run here: flux-core's shell and its environment(7).
//   FLUX_TASK_RANK FLUX_JOB_SIZE FLUX_TASK_LOCAL_ID FLUX_JOB_NNODES FLUX_JOB_ID
// PMI_RANK and PMI_SIZE are beside them and agree. No variable has the local size or the node's index (Flux
// keeps a task map in its KVS). A broker clears the outer launcher's variables before it runs a program.
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr OuterVariable kPerRank[] = {
    {"FLUX_TASK_RANK", Becomes::kNothing, "Flux: rank"},
    {"FLUX_TASK_LOCAL_ID", Becomes::kLocalRank, "Flux: local rank"},
    {"FLUX_JOB_SIZE", Becomes::kNothing, "Flux: number of tasks"},
};

}  // namespace

constinit const Launcher kFluxLauncher{
    .name = "flux",
    .documented = "Flux",
    .tuple = {.rank = "FLUX_TASK_RANK",
              .world_size = "FLUX_JOB_SIZE",
              .local_rank = "FLUX_TASK_LOCAL_ID",
              .num_nodes = "FLUX_JOB_NNODES"},
    .job_id = "FLUX_JOB_ID",
    .per_rank = kPerRank,
};

}  // namespace muster::resolve
