// PMIx: PMIX_RANK PMIX_NAMESPACE ("slurm.pmix.6.0" from srun --mpi=pmix). The size is only in the PMIx
// server, so this is never a whole tuple; srun and mpirun set theirs next to it.
#include "bootstrap/launch/probes.h"
#include "bootstrap/launch/slurm_variables.h"

namespace muster {

Probed ProbePmix(const Environment& environment, const ProbeContext&) {
  const auto rank = environment.GetCount("PMIX_RANK");
  if (!rank) return Malformed{rank.error()};
  if (!*rank) return Absent{"no PMIX_RANK"};
  const std::string_view space = environment.Get("PMIX_NAMESPACE").value_or("");
  const bool slurms = space.substr(0, 6) == "slurm.";
  if (slurms && NamesAnotherSlurmStep(environment, space)) {
    return Absent{fmt::format("PMIX_NAMESPACE={} is not this Slurm step: left over from another one", space),
                  true};
  }
  return Incomplete{
      {Code::kBadEnvironment,
       fmt::format("PMIX_RANK={} says a rank (PMIX_NAMESPACE={}) but nothing says the size of its world",
                   **rank, space),
       "start with srun or Open MPI's mpirun, which say both, or give --rank and --world-size"},
      fmt::format("PMIX_RANK={}", **rank),
      **rank,
      std::nullopt,
      !space.empty() && !slurms};
}

}  // namespace muster
