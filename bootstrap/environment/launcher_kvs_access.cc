// PMI: PMI_FD (the connection) PMI_RANK; PMI_JOBID (Slurm's pmi2, which has PMI-2 alone; Hydra has both).
// PMIx: PMIX_RANK PMIX_NAMESPACE PMIX_SERVER_URI* (one for each release that may connect).
#include "bootstrap/environment/launcher_kvs_access.h"

namespace muster {
namespace {

struct Service {
  std::string_view method;
  std::string_view rank;
  std::string_view starters;
};

constexpr Service kPmi{"pmi", "PMI_RANK", "MPICH's mpiexec or srun --mpi=pmi2"};
constexpr Service kPmix{"pmix", "PMIX_RANK", "Open MPI's mpirun or srun --mpi=pmix"};

tl::unexpected<Error> NotThere(const Service& service, std::string_view variable) {
  return WithHint(
      Fail(Code::kConfiguration, "rendezvous.method is {}, but there is no such server here: no {}",
           service.method, variable),
      fmt::format("start with {}, or use rendezvous.method: auto", service.starters));
}

// Processes below a rank of mpirun inherit its server, and are none of its ranks.
Status CheckRank(const Service& service, const Environment& environment, const RankTuple& tuple) {
  MUSTER_TRY(const std::optional<int> rank, environment.GetCount(service.rank));
  if (!rank) return NotThere(service, service.rank);
  if (*rank == tuple.rank) return {};
  return WithHint(Fail(Code::kConfiguration,
                       "rendezvous.method is {}, but {}={} is not rank {} of this {} launch: the server is "
                       "another launcher's",
                       service.method, service.rank, *rank, tuple.rank, tuple.launcher),
                  "use rendezvous.method: auto");
}

}  // namespace

Result<PmiAccess> FindPmi(const Environment& environment, const RankTuple& tuple, bool keeps_pmi) {
  MUSTER_TRY(const std::optional<int> fd, environment.GetCount("PMI_FD"));
  if (!fd) return NotThere(kPmi, "PMI_FD");
  MUSTER_CHECK(CheckRank(kPmi, environment, tuple));
  PmiAccess access{*fd, PmiVersion::kOne, tuple.rank, {}};
  const auto job = environment.Get("PMI_JOBID");
  if (!job || keeps_pmi) return access;
  access.version = PmiVersion::kTwo;
  access.job = *job;
  return access;
}

std::optional<std::string_view> FindPmixServer(const Environment& environment) {
  constexpr std::string_view kPrefix = "PMIX_SERVER_URI";
  const auto found = environment.All().lower_bound(kPrefix);
  if (found == environment.All().end() || !found->first.starts_with(kPrefix)) return std::nullopt;
  return found->second;
}

Status CheckPmix(const Environment& environment, const RankTuple& tuple) {
  if (!FindPmixServer(environment)) return NotThere(kPmix, "PMIX_SERVER_URI");
  if (!environment.Has("PMIX_NAMESPACE")) return NotThere(kPmix, "PMIX_NAMESPACE");
  return CheckRank(kPmix, environment, tuple);
}

}  // namespace muster
