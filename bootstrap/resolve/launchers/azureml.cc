// AzureML. From documentation, never run here: Microsoft's guide to distributed training, DeepSpeed's
// comm.py.
//   AZUREML_EXPERIMENT_ID or AZUREML_RUN_ID   the job's mark, not the process's
// Its PyTorch distribution: RANK WORLD_SIZE LOCAL_RANK NODE_RANK MASTER_ADDR MASTER_PORT. Its MPI
// distribution: OMPI_COMM_WORLD_*, and rank 0's address: AZ_BATCH_MASTER_NODE ("address:port") on several
// nodes, AZ_BATCHAI_MPI_MASTER_NODE on one.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kTorch{
    .rank = "RANK",
    .world_size = "WORLD_SIZE",
    .local_rank = "LOCAL_RANK",
    .node_rank = "NODE_RANK",
};

constexpr TupleVariables kMpi{
    .rank = "OMPI_COMM_WORLD_RANK",
    .world_size = "OMPI_COMM_WORLD_SIZE",
    .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
    .local_world_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
};

std::string_view Mark(const Environment& environment) {
  return environment.Has("AZUREML_RUN_ID") ? "AZUREML_RUN_ID" : "AZUREML_EXPERIMENT_ID";
}

Probed ProbeTorch(const Environment& environment) {
  return ProbeTorchRow(environment, {.name = "azureml", .variables = kTorch, .job_id = Mark(environment)});
}

Result<Candidate> ReadMpi(const Environment& environment) {
  MUSTER_TRY(Candidate candidate, ReadTuple("azureml", environment, kMpi));
  const auto master = environment.Get("AZ_BATCH_MASTER_NODE");
  if (master && !master->empty()) {
    const auto endpoint = ParseEndpoint(*master);
    if (!endpoint) {
      return Fail(Code::kBadEnvironment, "AZ_BATCH_MASTER_NODE=\"{}\" is not ADDRESS:PORT", *master);
    }
    candidate.tuple.master = *endpoint;
    candidate.sources.push_back({"master", "AZ_BATCH_MASTER_NODE"});
  }
  ReadJobId(environment, {Mark(environment)}, candidate);
  return candidate;
}

Probed ProbeAzureml(const Environment& environment, const ProbeContext&) {
  if (!environment.Has(Mark(environment))) return Absent{"no AZUREML_RUN_ID"};
  if (HasTorchrun(environment)) return Absent{"RANK is torchrun's"};
  if (environment.Has("RANK") && environment.Has("LOCAL_RANK")) return ProbeTorch(environment);
  if (HasNoPair(environment, kMpi)) return Absent{"AZUREML_RUN_ID is set without RANK and LOCAL_RANK"};
  return ToProbed(ReadMpi(environment));
}

constexpr std::string_view kOthers[] = {"AZUREML_RUN_ID", "AZUREML_EXPERIMENT_ID", "AZ_BATCH_MASTER_NODE"};

}  // namespace

constinit const Launcher kAzuremlLauncher{
    .name = "azureml",
    .probe = ProbeAzureml,
    .documented = "AzureML's PyTorch distribution",
    .tuple = kTorch,
    .others = kOthers,
    .note = "ranks of its MPI distribution are `openmpi`'s, and meet at `AZ_BATCH_MASTER_NODE`",
    .meets = Meets::kMaster,
    .has_signature = false,
};

}  // namespace muster::resolve
