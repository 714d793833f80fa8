// The bare tuple of PyTorch's env://, set by hand, by mp.spawn programs, by enroot's hook, Composer or Ray
// Train:
//   RANK WORLD_SIZE LOCAL_RANK, sometimes LOCAL_WORLD_SIZE, GROUP_RANK or NODE_RANK, GROUP_WORLD_SIZE,
//   MASTER_ADDR, MASTER_PORT
// Without LOCAL_RANK, RANK may count nodes (Kubeflow's PyTorchJob, PAI DLC): not a process's rank.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

TupleVariables Variables(const Environment& environment) {
  TupleVariables variables = kTorchrunVariables;
  // Alone, NODE_RANK is a user's export for torchrun's --node-rank; next to LOCAL_WORLD_SIZE it is Composer's
  // or Ray's.
  if (!environment.Has("GROUP_RANK") && environment.Has("LOCAL_WORLD_SIZE"))
    variables.node_rank = "NODE_RANK";
  return variables;
}

Probed WorldSizeAlone(const Environment& environment) {
  const auto size = environment.GetCount("WORLD_SIZE");
  if (!size) return Malformed{size.error()};
  return Incomplete{
      {Code::kBadEnvironment, fmt::format("WORLD_SIZE={} is set but RANK is not: half a pair", **size),
       "start the ranks with a launcher, or unset WORLD_SIZE"},
      fmt::format("WORLD_SIZE={}", **size),
      std::nullopt,
      *size};
}

Probed ProbeTorchEnv(const Environment& environment, const ProbeContext& context) {
  if (HasNoPair(environment, Variables(environment))) return Absent{"no RANK"};
  if (!context.forced) {
    if (HasTorchrun(environment)) return Absent{"RANK is torchrun's"};
    if (environment.Has("CROSS_RANK") && environment.Has("LOCAL_RANK")) {
      return Absent{"RANK is DeepSpeed's"};
    }
    if (std::holds_alternative<Candidate>(kRayLauncher.Probe(environment, {})))
      return Absent{"RANK is Ray's"};
    if (!environment.Has("RANK")) return WorldSizeAlone(environment);
  }
  Probed probed = ProbeTorchRow(environment, {.name = "torch-env", .variables = Variables(environment)});
  const auto* candidate = std::get_if<Candidate>(&probed);
  if (candidate == nullptr || context.forced) return probed;
  const RankTuple& tuple = candidate->tuple;
  if (!tuple.local_rank) {
    return Incomplete{
        {Code::kBadEnvironment,
         fmt::format("RANK={} and WORLD_SIZE={} are set but LOCAL_RANK is not: they may count nodes",
                     tuple.rank, tuple.world_size),
         "set LOCAL_RANK too, or force them with MUSTER_LAUNCHER=torch-env"},
        fmt::format("RANK={}, WORLD_SIZE={}", tuple.rank, tuple.world_size),
        tuple.rank,
        tuple.world_size};
  }
  return probed;
}

constexpr std::string_view kOthers[] = {"NODE_RANK"};

}  // namespace

constinit const Launcher kTorchEnvLauncher{
    .name = "torch-env",
    .probe = ProbeTorchEnv,
    .tested = "mp.spawn, enroot's hook, by hand",
    .tuple = kTorchrunVariables,
    .others = kOthers,
    .note = "`NODE_RANK` beside `LOCAL_WORLD_SIZE`, without `GROUP_RANK`",
    .nonce = "TORCHELASTIC_RUN_ID",  // if muster made it: of a world of one, which has no MUSTER_CONTROL
    .role = LauncherRole::kBareTuple,
    .meets = Meets::kMaster,
    .has_signature = false,
};

}  // namespace muster::resolve
