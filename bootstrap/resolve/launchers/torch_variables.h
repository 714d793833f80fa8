// The variables that launchers of PyTorch programs have in common.
#pragma once

#include <string_view>

#include "bootstrap/environment/environment.h"
#include "bootstrap/environment/tuple_reader.h"

namespace muster::resolve {

inline constexpr TupleVariables kTorchrunVariables{
    .rank = "RANK",
    .world_size = "WORLD_SIZE",
    .local_rank = "LOCAL_RANK",
    .local_world_size = "LOCAL_WORLD_SIZE",
    .node_rank = "GROUP_RANK",
    .num_nodes = "GROUP_WORLD_SIZE",
};

// Composer and Ray Train set these instead.
inline constexpr TupleVariables kTorchVariablesByNodeRank{
    .rank = "RANK",
    .world_size = "WORLD_SIZE",
    .local_rank = "LOCAL_RANK",
    .local_world_size = "LOCAL_WORLD_SIZE",
    .node_rank = "NODE_RANK",
};

// The prefix of TORCHELASTIC_RUN_ID if `muster run` set it, because PyTorch reads it: there is no torchrun
// behind RANK then.
inline constexpr std::string_view kMusterRunId = "muster-";

inline bool HasTorchrun(const Environment& environment) {
  const auto run_id = environment.Get("TORCHELASTIC_RUN_ID");
  return run_id && !run_id->starts_with(kMusterRunId);
}

// A launcher that sets more than its tuple: torchrun, DeepSpeed or muster run.
inline bool HasTorchLauncher(const Environment& environment) {
  return environment.Has("GROUP_RANK") || environment.Has("CROSS_RANK") || HasTorchrun(environment);
}

}  // namespace muster::resolve
