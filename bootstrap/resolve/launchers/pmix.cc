// PMIx: PMIX_RANK PMIX_NAMESPACE ("slurm.pmix.6.0" from srun --mpi=pmix) PMIX_HOSTNAME (release 3.1 and
// later). Only the PMIx server has the size of the launch and the place on the node. It numbers the ranks of
// a node as its list of them does (PMIX_LOCAL_PEERS). srun and mpirun have them in variables of their own:
// the server is queried only if no variable has them, or for `launcher: pmix`.
#include <climits>

#include "bootstrap/environment/launcher_kvs_access.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "PMIX_RANK",
    .world_size = "the PMIx server's PMIX_JOB_SIZE",
    .local_rank = "the PMIx server's PMIX_LOCAL_PEERS",
    .local_world_size = "the PMIx server's PMIX_LOCAL_SIZE",
    .num_nodes = "the PMIx server's PMIX_NUM_NODES",
};

bool IsOfSlurm(std::string_view space) { return space.substr(0, 6) == "slurm."; }

// "slurm.pmix.6.4294967290": the shell that salloc starts, which is no rank.
bool NamesASpecialStep(std::string_view space) {
  const auto step = ParseInteger<int64_t>(space.substr(space.rfind('.') + 1));
  return step && IsSpecialStep(*step);
}

Status Take(const std::optional<uint32_t>& said, std::string_view field, std::string_view variable,
            std::optional<int>& value, Candidate& candidate) {
  if (!said) return {};
  if (*said > INT_MAX) return Fail(Code::kBadEnvironment, "{}={} is more than {}", variable, *said, INT_MAX);
  value = static_cast<int>(*said);
  candidate.sources.push_back({std::string(field), std::string(variable)});
  return {};
}

// The place of `rank` in "0,1,5"; absent if the text is no list, or not of this process's node.
std::optional<uint32_t> IndexAmong(std::string_view peers, int rank) {
  uint32_t index = 0;
  for (const std::string_view peer : Split(peers, ',')) {
    const auto number = ParseInteger<int>(peer);
    if (!number) return std::nullopt;
    if (*number == rank) return index;
    ++index;
  }
  return std::nullopt;
}

Result<Candidate> Read(const Environment& environment, int rank, const PmixPlace& place) {
  Candidate candidate;
  RankTuple& tuple = candidate.tuple;
  tuple.launcher = "pmix";
  tuple.rank = rank;
  candidate.sources.push_back({"rank", std::string(kVariables.rank)});
  std::optional<int> size;
  MUSTER_CHECK(Take(place.world_size, "world_size", kVariables.world_size, size, candidate));
  tuple.world_size = size.value_or(1);
  const auto index = IndexAmong(place.local_peers.value_or(""), rank);
  MUSTER_CHECK(Take(index ? index : place.local_rank, "local_rank", kVariables.local_rank, tuple.local_rank,
                    candidate));
  MUSTER_CHECK(Take(place.local_world_size, "local_world_size", kVariables.local_world_size,
                    tuple.local_world_size, candidate));
  MUSTER_CHECK(Take(place.num_nodes, "num_nodes", kVariables.num_nodes, tuple.num_nodes, candidate));
  MUSTER_CHECK(CheckBounds(tuple, kVariables));
  ReadNode(environment, "PMIX_HOSTNAME", candidate);
  ReadJobId(environment, {"PMIX_NAMESPACE"}, candidate);
  return candidate;
}

Incomplete WithoutSize(const Environment& environment, int rank, std::string_view space, bool asked) {
  const std::string who = fmt::format(
      "PMIX_RANK={} is a rank (PMIX_NAMESPACE={}), but the size of its world is unknown", rank, space);
  Incomplete incomplete{
      {Code::kBadEnvironment, asked ? who + ", also to its PMIx server" : who,
       "start with srun or Open MPI's mpirun, which set both, or give --rank and --world-size"},
      fmt::format("PMIX_RANK={}", rank),
      rank,
      std::nullopt,
      !space.empty() && !IsOfSlurm(space)};
  incomplete.pmix_may_know = !asked && !space.empty() && FindPmixServer(environment);
  return incomplete;
}

Probed ProbePmix(const Environment& environment, const ProbeContext& context) {
  const auto rank = environment.GetCount("PMIX_RANK");
  if (!rank) return Malformed{rank.error()};
  if (!*rank) return Absent{"no PMIX_RANK"};
  const std::string_view space = environment.Get("PMIX_NAMESPACE").value_or("");
  if (IsOfSlurm(space) && NamesAnotherSlurmStep(environment, space)) {
    return Absent{fmt::format("PMIX_NAMESPACE={} is not this Slurm step: left over from another one", space),
                  true};
  }
  if (IsOfSlurm(space) && NamesASpecialStep(space)) {
    return Absent{fmt::format("PMIX_NAMESPACE={} is a special step, not one of tasks", space)};
  }
  if (!context.pmix || !context.pmix->world_size)
    return WithoutSize(environment, **rank, space, context.pmix.has_value());
  return ToProbed(Read(environment, **rank, *context.pmix));
}

constexpr std::string_view kOthers[] = {"PMIX_RANK", "PMIX_NAMESPACE", "PMIX_HOSTNAME"};

constexpr OuterVariable kPerRank[] = {
    {"PMIX_RANK", Becomes::kNothing, "PMIx"},
    {"PMIX_NAMESPACE", Becomes::kNothing, "PMIx: server's job"},
    {"PMIX_ID", Becomes::kNothing, "PMIx: process"},
    {"PMIX_SERVER_*", Becomes::kNothing, "PMIx: a server of one process, not of these"},
    {"PMIX_DSTORE_*", Becomes::kNothing, "PMIx: server's shared memory"},
};

}  // namespace

constinit const Launcher kPmixLauncher{
    .name = "pmix",
    .probe = ProbePmix,
    .tested = "a bare PMIx rank (srun's or mpirun's own variables are gone), or forced",
    .others = kOthers,
    .note =
        "`PMIX_JOB_SIZE`, `PMIX_LOCAL_PEERS`, `PMIX_LOCAL_SIZE` and `PMIX_NUM_NODES` come from its PMIx "
        "server",
    .nonce = "PMIX_NAMESPACE",
    .per_rank = kPerRank,
    .meets = Meets::kPmix,
    .inherited = true,
    .seen_in_steps = true,
};

}  // namespace muster::resolve
