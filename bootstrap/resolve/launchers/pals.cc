// HPE's PALS: mpiexec under PBS on Cray EX, and srun --mpi=cray_shasta, which sets the same variables beside
// Slurm's own. From documentation, never run here: ALCF's guides, Slurm's mpi_cray_shasta plugin.
//   PALS_RANKID, PMI_SIZE (PALS has no size of its own), PALS_LOCAL_RANKID, PALS_NODEID, PALS_APID (the
//   launch; "7.0" from srun, Slurm's job.step) PALS_LOCAL_SIZE from mpiexec, PMI_LOCAL_SIZE from srun
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"

namespace muster::resolve {
namespace {

// Of mpiexec.
constexpr TupleVariables kVariables{
    .rank = "PALS_RANKID",
    .world_size = "PMI_SIZE",
    .local_rank = "PALS_LOCAL_RANKID",
    .local_world_size = "PALS_LOCAL_SIZE",
    .node_rank = "PALS_NODEID",
};

Probed ProbePals(const Environment& environment, const ProbeContext&) {
  // PMI_SIZE alone can be any launcher's.
  if (!environment.Has("PALS_RANKID")) return Absent{"no PALS_RANKID"};
  const auto launch = environment.Get("PALS_APID");
  if (launch && NamesAnotherSlurmStep(environment, *launch)) {
    return Absent{fmt::format("PALS_APID={} is not this Slurm step: left over from another one", *launch),
                  true};
  }
  const auto rank = environment.GetCount("PALS_RANKID");
  if (!rank) return Malformed{rank.error()};
  if (!environment.Has("PMI_SIZE")) {
    return Incomplete{
        {Code::kBadEnvironment,
         fmt::format("PALS_RANKID={} is a rank, but PMI_SIZE, the size of its world, is not set", **rank),
         "give --rank and --world-size, and --endpoint if there is more than one node"},
        fmt::format("PALS_RANKID={}", **rank),
        **rank};
  }
  TupleVariables variables = kVariables;
  if (!environment.Has(variables.local_world_size)) variables.local_world_size = "PMI_LOCAL_SIZE";
  return ProbeRow(environment, {.name = "pals", .variables = variables, .job_id = "PALS_APID"});
}

constexpr std::string_view kOthers[] = {"PMI_LOCAL_SIZE", "PALS_APID"};

constexpr OuterVariable kPerRank[] = {
    {"PALS_RANKID", Becomes::kNothing, "PALS: rank"},
    {"PALS_LOCAL_RANKID", Becomes::kLocalRank, "PALS: local rank"},
    {"PALS_LOCAL_SIZE", Becomes::kLocalSize, "PALS: ranks on this node"},
};

}  // namespace

constinit const Launcher kPalsLauncher{
    .name = "pals",
    .probe = ProbePals,
    .documented = "PALS (PBS on Cray EX)",
    .tuple = kVariables,
    .others = kOthers,
    .per_rank = kPerRank,
    .seen_in_steps = true,
};

}  // namespace muster::resolve
