// The legacy tuple without a RANK: rank = NODE_RANK x (ranks on a node) + LOCAL_RANK. Set by Lightning's own
// launcher (lightning/fabric/strategies/launchers/subprocess_script.py) and by scripts of their time:
//   NODE_RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT; LOCAL_WORLD_SIZE or NNODES, if a user sets
//   them
// Only if all nodes are even, as far as one of them can check: else refused, never guessed.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

struct Counts {
  std::optional<int> node;
  std::optional<int> local;
  std::optional<int> world;
  std::optional<int> each;
  std::optional<int> nodes;
};

Result<Counts> ReadCounts(const Environment& environment) {
  Counts counts;
  MUSTER_TRY(counts.node, environment.GetCount("NODE_RANK"));
  MUSTER_TRY(counts.local, environment.GetCount("LOCAL_RANK"));
  MUSTER_TRY(counts.world, environment.GetCount("WORLD_SIZE"));
  MUSTER_TRY(counts.each, environment.GetCount("LOCAL_WORLD_SIZE"));
  MUSTER_TRY(counts.nodes, environment.GetCount("NNODES"));
  for (const auto& [name, value] :
       {std::pair("WORLD_SIZE", counts.world), std::pair("LOCAL_WORLD_SIZE", counts.each),
        std::pair("NNODES", counts.nodes)}) {
    if (value == 0) return Fail(Code::kBadEnvironment, "{}=0: there is at least one", name);
  }
  return counts;
}

tl::unexpected<Error> NotEven(std::string what) {
  return WithHint(
      Fail(Code::kBadEnvironment, "NODE_RANK and LOCAL_RANK are set but RANK is not, and {}", what),
      "set RANK, or LOCAL_WORLD_SIZE and NNODES if all nodes have the same number of ranks");
}

// How many ranks each node has.
Result<int> RanksOnEachNode(const Environment& environment, const Counts& counts) {
  const int world = *counts.world;
  if (counts.each && counts.nodes && int64_t{*counts.each} * *counts.nodes != world) {
    return NotEven(fmt::format("LOCAL_WORLD_SIZE={} on NNODES={} are not WORLD_SIZE={}", *counts.each,
                               *counts.nodes, world));
  }
  if (counts.each) {
    if (world % *counts.each == 0) return *counts.each;
    return NotEven(
        fmt::format("WORLD_SIZE={} is not a multiple of LOCAL_WORLD_SIZE={}", world, *counts.each));
  }
  if (counts.nodes) {
    if (world % *counts.nodes == 0) return world / *counts.nodes;
    return NotEven(fmt::format("WORLD_SIZE={} is not a multiple of NNODES={}", world, *counts.nodes));
  }
  if (*counts.node == 0 && IsLoopback(environment.Get("MASTER_ADDR").value_or(""))) return world;
  return NotEven("the number of ranks of a node is unknown");
}

Status CheckInside(const Counts& counts, int each) {
  if (*counts.local >= each) {
    return Fail(Code::kBadEnvironment, "LOCAL_RANK={} is outside the {} ranks of a node", *counts.local,
                each);
  }
  const int nodes = *counts.world / each;
  if (*counts.node >= nodes)
    return Fail(Code::kBadEnvironment, "NODE_RANK={} is outside {} nodes", *counts.node, nodes);
  return {};
}

Result<Candidate> Infer(const Environment& environment, const Counts& counts, int each) {
  MUSTER_CHECK(CheckInside(counts, each));
  Candidate candidate;
  RankTuple& tuple = candidate.tuple;
  tuple.launcher = "node-env";
  tuple.rank = *counts.node * each + *counts.local;
  tuple.world_size = *counts.world;
  tuple.local_rank = counts.local;
  tuple.local_world_size = each;
  tuple.node_rank = counts.node;
  tuple.num_nodes = *counts.world / each;
  const std::string how = counts.each    ? "LOCAL_WORLD_SIZE"
                          : counts.nodes ? "WORLD_SIZE / NNODES"
                                         : "WORLD_SIZE (MASTER_ADDR is this node)";
  candidate.sources = {{"rank", fmt::format("NODE_RANK x {} + LOCAL_RANK", each), {}},
                       {"world_size", "WORLD_SIZE", {}},
                       {"local_rank", "LOCAL_RANK", {}},
                       {"local_world_size", how, {}},
                       {"node_rank", "NODE_RANK", {}},
                       {"num_nodes", fmt::format("WORLD_SIZE / {}", each), {}}};
  MUSTER_CHECK(ReadMaster(environment, candidate));
  tuple.job.key = JobKey("node-env", tuple.job);
  return candidate;
}

Probed ProbeNodeEnv(const Environment& environment, const ProbeContext& context) {
  if (!environment.Has("NODE_RANK") || !environment.Has("LOCAL_RANK"))
    return Absent{"no NODE_RANK with LOCAL_RANK"};
  if (environment.Has("RANK") && !context.forced) return Absent{"there is a RANK"};
  if (!environment.Has("WORLD_SIZE")) return Absent{"no WORLD_SIZE beside NODE_RANK and LOCAL_RANK"};
  const Result<Counts> counts = ReadCounts(environment);
  if (!counts) return Malformed{counts.error()};
  const Result<int> each = RanksOnEachNode(environment, *counts);
  if (!each) {
    return Incomplete{each.error(), fmt::format("NODE_RANK={}, LOCAL_RANK={}", *counts->node, *counts->local),
                      std::nullopt, counts->world};
  }
  return ToProbed(Infer(environment, *counts, *each));
}

constexpr std::string_view kOthers[] = {"NODE_RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                        "NNODES"};

}  // namespace

constinit const Launcher kNodeEnvLauncher{
    .name = "node-env",
    .probe = ProbeNodeEnv,
    .tested = "Lightning's own processes, scripts of its kind",
    .others = kOthers,
    .note = "the rank is `NODE_RANK` x ranks of a node + `LOCAL_RANK`; only if all nodes are even",
    .meets = Meets::kMaster,
    .has_signature = false,
    .rare = true,
};

}  // namespace muster::resolve
