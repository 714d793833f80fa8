// Open MPI's mpirun, releases 4 (ORTE) and 5 (PRRTE):
//   OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE   both (OMPI_COMM_WORLD_NODE_RANK is a rank on the
//   node, not a node's) OMPI_MCA_orte_num_nodes   4 only: the nodes of this launch;  PMIX_HOSTNAME: this node
//   OMPI_MCA_ess_base_jobid   4;  PMIX_NAMESPACE   5: the launch, so that two mpiruns of one job differ
// Nothing says the node's index.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/probes.h"

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
  std::optional<std::string> id;
  ReadText(environment, "OMPI_MCA_ess_base_jobid", "job.id", id, candidate);
  if (!id) ReadText(environment, "PMIX_NAMESPACE", "job.id", id, candidate);
  candidate.tuple.job.id = id.value_or("");
  candidate.tuple.job.key = JobKey("openmpi", candidate.tuple.job);
  return candidate;
}

}  // namespace

Probed ProbeOpenmpi(const Environment& environment, const ProbeContext&) {
  if (HasNoPair(environment, kVariables)) return Absent{"no OMPI_COMM_WORLD_RANK"};
  Result<Candidate> candidate = Read(environment);
  if (!candidate) return Malformed{std::move(candidate).error()};
  return *std::move(candidate);
}

}  // namespace muster::resolve
