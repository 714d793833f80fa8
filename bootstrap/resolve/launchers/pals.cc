// HPE's PALS: mpiexec under PBS on Cray EX, and srun --mpi=cray_shasta, which sets the same variables beside
// Slurm's own. From documentation, never run here: ALCF's guides, Slurm's mpi_cray_shasta plugin.
//   PALS_RANKID, PMI_SIZE (PALS has no size of its own), PALS_LOCAL_RANKID, PALS_NODEID, PALS_APID (the
//   launch) PALS_LOCAL_SIZE from mpiexec, PMI_LOCAL_SIZE from srun
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/probes.h"

namespace muster::resolve {

Probed ProbePals(const Environment& environment, const ProbeContext&) {
  // PMI_SIZE alone is anybody's.
  if (!environment.Has("PALS_RANKID")) return Absent{"no PALS_RANKID"};
  const auto rank = environment.GetCount("PALS_RANKID");
  if (!rank) return Malformed{rank.error()};
  if (!environment.Has("PMI_SIZE")) {
    return Incomplete{
        {Code::kBadEnvironment,
         fmt::format("PALS_RANKID={} says a rank but PMI_SIZE, the size of its world, is not set", **rank),
         "give --rank and --world-size, and --endpoint where there is more than one node"},
        fmt::format("PALS_RANKID={}", **rank),
        **rank,
        std::nullopt};
  }
  const bool by_mpiexec = environment.Has("PALS_LOCAL_SIZE");
  return ProbeRow(environment,
                  {.name = "pals",
                   .variables = {.rank = "PALS_RANKID",
                                 .world_size = "PMI_SIZE",
                                 .local_rank = "PALS_LOCAL_RANKID",
                                 .local_world_size = by_mpiexec ? "PALS_LOCAL_SIZE" : "PMI_LOCAL_SIZE",
                                 .node_rank = "PALS_NODEID"},
                   .job_id = "PALS_APID"});
}

}  // namespace muster::resolve
