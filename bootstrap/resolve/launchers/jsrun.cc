// IBM's jsrun (LSF, Spectrum MPI). From documentation, never run here: Lightning's LSF environment,
// llnl/scr#143.
//   JSM_NAMESPACE_RANK JSM_NAMESPACE_SIZE JSM_NAMESPACE_LOCAL_RANK JSM_NAMESPACE_LOCAL_SIZE
//   LSB_JOBID   LSF's job; two jsruns of one job share it. PMIX_NAMESPACE   the jsrun, if it is set
// OMPI_COMM_WORLD_* and PMIX_RANK are beside them and agree. No variable has the node's index.
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr OuterVariable kPerRank[] = {
    {"JSM_NAMESPACE_*", Becomes::kNothing, "jsrun: rank and size"},
};

}  // namespace

constinit const Launcher kJsrunLauncher{
    .name = "jsrun",
    .documented = "LSF's jsrun",
    .tuple = {.rank = "JSM_NAMESPACE_RANK",
              .world_size = "JSM_NAMESPACE_SIZE",
              .local_rank = "JSM_NAMESPACE_LOCAL_RANK",
              .local_world_size = "JSM_NAMESPACE_LOCAL_SIZE"},
    .job_id = "LSB_JOBID",
    .per_rank = kPerRank,
    .key = {"namespace", "PMIX_NAMESPACE"},
    .shares_job_id = true,
};

}  // namespace muster::resolve
