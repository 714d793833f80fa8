// Open MPI's mpirun, releases 4 (ORTE) and 5 (PRRTE):
//
//   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE   both
//   OMPI_COMM_WORLD_NODE_RANK                               both: a rank on the node, not the node's index
//   OMPI_MCA_orte_num_nodes                                 4 only: the nodes of this launch
//   PMIX_HOSTNAME                                           this node
//   OMPI_MCA_ess_base_jobid                                 4: the launch, so that two mpiruns of one job differ
//   PMIX_NAMESPACE                                          5: the same
//
// No variable has the node's index.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "OMPI_COMM_WORLD_RANK",
    .world_size = "OMPI_COMM_WORLD_SIZE",
    .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
    .local_world_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
    .num_nodes = "OMPI_MCA_orte_num_nodes",
};

Result<Candidate> Read(const Environment& environment) {
  MUSTER_TRY(Candidate candidate, ReadTuple("openmpi", environment, kVariables));
  ReadText(environment, "PMIX_HOSTNAME", "node", candidate.tuple.node, candidate);
  ReadJobId(environment, {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}, candidate);
  return candidate;
}

Probed ProbeOpenmpi(const Environment& environment, const ProbeContext&) {
  if (HasNoPair(environment, kVariables)) return Absent{"no OMPI_COMM_WORLD_RANK"};
  return ToProbed(Read(environment));
}

constexpr std::string_view kOthers[] = {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMIX_HOSTNAME"};

constexpr OuterVariable kPerRank[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", Becomes::kLocalRank, "Open MPI: local rank"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", Becomes::kLocalSize, "Open MPI: ranks on this node"},
    {"OMPI_COMM_WORLD_*", Becomes::kNothing, "Open MPI: rank and size"},
    {"OMPI_FIRST_RANKS", Becomes::kNothing, "Open MPI"},
    {"OMPI_UNIVERSE_SIZE", Becomes::kNothing, "Open MPI"},
    {"OMPI_APP_CTX_NUM_PROCS", Becomes::kNothing, "Open MPI"},
    {"OMPI_NUM_APP_CTX", Becomes::kNothing, "Open MPI"},
    {"OMPI_FILE_LOCATION", Becomes::kNothing, "Open MPI: session of the process"},
    {"OMPI_MCA_ess", Becomes::kNothing, "Open MPI 4: expect a PMIx server"},
    {"OMPI_MCA_ess_*", Becomes::kNothing, "Open MPI 4: daemon"},
    {"OMPI_MCA_orte_*", Becomes::kNothing, "Open MPI 4: daemon"},
    {"OMPI_MCA_pmix", Becomes::kNothing, "Open MPI 4: the PMIx server's kind"},
    {"PRTE_LAUNCHED", Becomes::kNothing, "Open MPI 5: expect a PMIx server"},
};

}  // namespace

constinit const Launcher kOpenmpiLauncher{
    .name = "openmpi",
    .probe = ProbeOpenmpi,
    .tested = "Open MPI's mpirun",
    .documented = "Horovod (MPI); AzureML's MPI distribution; SageMaker",
    .tuple = kVariables,
    .others = kOthers,
    .nonce = "PMIX_NAMESPACE",
    .per_rank = kPerRank,
    .meets = Meets::kJobThenPmix,
    // Random per mpirun; the job id alone is a hash of 16 bits.
    .key = {"mpirun", "OMPI_MCA_orte_precondition_transports"},
    .daemons_by_srun = true,
};

}  // namespace muster::resolve
