// A bare PMI-1/PMI-2 pair, as srun --mpi=pmi2 and Cray's PALS set it next to their own variables:
//   PMI_RANK PMI_SIZE; PMI_LOCAL_RANK PMI_LOCAL_SIZE (Cray); PMI_JOBID ("7.0" = Slurm's job.step)
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "PMI_RANK",
    .world_size = "PMI_SIZE",
    .local_rank = "PMI_LOCAL_RANK",
    .local_world_size = "PMI_LOCAL_SIZE",
};

Probed ProbePmi(const Environment& environment, const ProbeContext&) {
  if (HasNoPair(environment, kVariables)) return Absent{"no PMI_RANK"};
  if (environment.Has("MPI_LOCALRANKID")) return Absent{"PMI_RANK is Hydra's"};
  const auto job = environment.Get("PMI_JOBID");
  if (job && NamesAnotherSlurmStep(environment, *job)) {
    return Absent{fmt::format("PMI_JOBID={} is not this Slurm step: left over from another one", *job), true};
  }
  // srun --mpi=cray_shasta names the step in PALS's variables alone.
  const Probed pals = kPalsLauncher.Probe(environment, {});
  const auto* absent = std::get_if<Absent>(&pals);
  if (absent != nullptr && absent->leaked && (!job || job->find('.') == std::string_view::npos))
    return *absent;
  return ProbeRow(environment, kPmiLauncher.row());
}

constexpr std::string_view kOthers[] = {"PMI_FD"};

constexpr OuterVariable kPerRank[] = {
    {"PMI_RANK", Becomes::kNothing, "PMI"},
    {"PMI_SIZE", Becomes::kNothing, "PMI"},
    {"PMI_FD", Becomes::kNothing, "PMI: one connection cannot serve several ranks"},
    {"PMI_PORT", Becomes::kNothing, "PMI: server"},
    {"PMI_ID", Becomes::kNothing, "PMI: process"},
    {"PMI_JOBID", Becomes::kNothing, "PMI: server's job"},
    {"PMI_SPAWNED", Becomes::kNothing, "PMI"},
    {"PMI_LOCAL_RANK", Becomes::kNothing, "PMI"},
    {"PMI_LOCAL_SIZE", Becomes::kNothing, "PMI"},
    {"PMI_CONTROL_PORT", Becomes::kNothing, "PMI: server"},
    {"PMI_SHARED_SECRET", Becomes::kNothing, "PMI: server"},
};

}  // namespace

constinit const Launcher kPmiLauncher{
    .name = "pmi",
    .probe = ProbePmi,
    .tested = "a bare PMI pair",
    .tuple = kVariables,
    .job_id = "PMI_JOBID",
    .others = kOthers,
    .per_rank = kPerRank,
    .names_no_launch = true,
    .has_signature = false,
    .seen_in_steps = true,
};

}  // namespace muster::resolve
