// MVAPICH2's mpirun_rsh. From documentation, never run here: its user guide, Accelerate's chain of variables.
//   MV2_COMM_WORLD_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE
// Its mpiexec is Hydra (hydra.cc). Nothing names the launch, this node or the nodes.
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr OuterVariable kPerRank[] = {
    {"MV2_COMM_WORLD_LOCAL_RANK", Becomes::kLocalRank, "MVAPICH2: local rank"},
    {"MV2_COMM_WORLD_LOCAL_SIZE", Becomes::kLocalSize, "MVAPICH2: ranks on this node"},
    {"MV2_COMM_WORLD_*", Becomes::kNothing, "MVAPICH2: rank and size"},
};

}  // namespace

constinit const Launcher kMvapich2Launcher{
    .name = "mvapich2",
    .documented = "MVAPICH2's mpirun_rsh",
    .tuple = {.rank = "MV2_COMM_WORLD_RANK",
              .world_size = "MV2_COMM_WORLD_SIZE",
              .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
              .local_world_size = "MV2_COMM_WORLD_LOCAL_SIZE"},
    .per_rank = kPerRank,
    .names_no_launch = true,
};

}  // namespace muster::resolve
