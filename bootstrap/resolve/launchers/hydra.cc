// Hydra, the mpiexec of MPICH and Intel MPI (src/pm/hydra/proxy/pmip_cb.c):
//   PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS, PMI_FD; MPIR_CVAR_CH3_INTERFACE_HOSTNAME or
//   PMI_HOSTNAME: this node I_MPI_HYDRA_UUID   Intel MPI: the launch
// It lays mpiexec's whole environment over that of its proxies. So on every node SLURM_PROCID, SLURM_NODEID
// and SLURMD_NODENAME can be those of the node where mpiexec ran.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "PMI_RANK",
    .world_size = "PMI_SIZE",
    .local_rank = "MPI_LOCALRANKID",
    .local_world_size = "MPI_LOCALNRANKS",
};

Result<Candidate> Read(const Environment& environment) {
  MUSTER_TRY(Candidate candidate, ReadTuple("hydra", environment, kVariables));
  for (const std::string_view variable : {"PMI_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"}) {
    if (!candidate.tuple.node) ReadNode(environment, variable, candidate);
  }
  ReadJobId(environment, {"I_MPI_HYDRA_UUID"}, candidate);
  return candidate;
}

Probed ProbeHydra(const Environment& environment, const ProbeContext&) {
  const auto local_rank = environment.Get("MPI_LOCALRANKID");
  if (!local_rank) return Absent{"no MPI_LOCALRANKID"};
  if (HasNoPair(environment, kVariables)) {
    if (!environment.Has("PMI_ID")) {
      return Absent{"MPI_LOCALRANKID is set without PMI_RANK and PMI_SIZE: left over from an mpiexec", true};
    }
    return Incomplete{
        {Code::kBadEnvironment,
         "PMI_ID is set but PMI_RANK and PMI_SIZE are not: mpiexec -pmi-port does not give the size",
         "start with mpiexec without -pmi-port, or give --rank and --world-size"},
        "PMI_ID"};
  }
  return ToProbed(Read(environment));
}

constexpr std::string_view kOthers[] = {"I_MPI_HYDRA_UUID", "PMI_HOSTNAME",
                                        "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "PMI_ID"};

constexpr OuterVariable kPerRank[] = {
    {"HYDI_CONTROL_FD", Becomes::kNothing, "Hydra: its proxy"},
    {"MPI_LOCALRANKID", Becomes::kLocalRank, "Hydra"},
    {"MPI_LOCALNRANKS", Becomes::kLocalSize, "Hydra"},
};

}  // namespace

constinit const Launcher kHydraLauncher{
    .name = "hydra",
    .probe = ProbeHydra,
    .tested = "MPICH's mpiexec (Hydra)",
    .documented = "Intel MPI",
    .tuple = kVariables,
    .others = kOthers,
    .note = "`I_MPI_HYDRA_UUID` names a launch of Intel MPI",
    .nonce = "I_MPI_HYDRA_UUID",
    .per_rank = kPerRank,
    .meets = Meets::kJobThenPmi,
    .names_no_launch = true,
    .daemons_by_srun = true,
    .spreads_environment = true,
};

}  // namespace muster::resolve
