// A bare PMI-1/PMI-2 pair, as srun --mpi=pmi2 and Cray's PALS set it next to their own variables:
//   PMI_RANK PMI_SIZE; PMI_LOCAL_RANK PMI_LOCAL_SIZE (Cray); PMI_JOBID ("7.0" = Slurm's job.step)
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/probes.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "PMI_RANK",
    .world_size = "PMI_SIZE",
    .local_rank = "PMI_LOCAL_RANK",
    .local_world_size = "PMI_LOCAL_SIZE",
};

}  // namespace

Probed ProbePmi(const Environment& environment, const ProbeContext&) {
  if (HasNoPair(environment, kVariables)) return Absent{"no PMI_RANK"};
  if (environment.Has("MPI_LOCALRANKID")) return Absent{"PMI_RANK is Hydra's"};
  const auto job = environment.Get("PMI_JOBID");
  if (job && NamesAnotherSlurmStep(environment, *job)) {
    return Absent{fmt::format("PMI_JOBID={} is not this Slurm step: left over from another one", *job), true};
  }
  Result<Candidate> candidate = ReadTuple("pmi", environment, kVariables);
  if (!candidate) return Malformed{std::move(candidate).error()};
  std::optional<std::string> id;
  ReadText(environment, "PMI_JOBID", "job.id", id, *candidate);
  candidate->tuple.job.id = id.value_or("");
  candidate->tuple.job.key = JobKey("pmi", candidate->tuple.job);
  return *std::move(candidate);
}

}  // namespace muster::resolve
