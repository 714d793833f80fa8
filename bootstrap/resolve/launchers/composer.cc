// MosaicML's composer. From its source, never run here: composer/cli/launcher.py.
//   RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT, which others set as well,
//   and PYTHONUNBUFFERED=1 with NCCL_ASYNC_ERROR_HANDLING=1 or TORCH_NCCL_ASYNC_ERROR_HANDLING=1: its mark
// No variable has the number of nodes, and they need not be even (--base_rank).
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

bool BearsItsMark(const Environment& environment) {
  return environment.Get("PYTHONUNBUFFERED") == "1" &&
         (environment.Get("NCCL_ASYNC_ERROR_HANDLING") == "1" ||
          environment.Get("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "1");
}

bool HasAll(const Environment& environment) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    if (!environment.Has(name)) return false;
  }
  return true;
}

Probed ProbeComposer(const Environment& environment, const ProbeContext& context) {
  if (!context.forced && !BearsItsMark(environment)) return Absent{"no mark of composer"};
  if (!HasAll(environment)) return Absent{"no RANK with LOCAL_WORLD_SIZE, NODE_RANK and MASTER_ADDR"};
  if (!context.forced && (HasTorchLauncher(environment) || environment.Has("RAY_JOB_ID")))
    return Absent{"RANK is another launcher's"};
  return ProbeTorchRow(environment, kComposerLauncher.row());
}

constexpr std::string_view kOthers[] = {"PYTHONUNBUFFERED", "NCCL_ASYNC_ERROR_HANDLING",
                                        "TORCH_NCCL_ASYNC_ERROR_HANDLING"};

}  // namespace

constinit const Launcher kComposerLauncher{
    .name = "composer",
    .probe = ProbeComposer,
    .documented = "Composer",
    .tuple = kTorchVariablesByNodeRank,
    .others = kOthers,
    .meets = Meets::kMaster,
    .has_signature = false,
};

}  // namespace muster::resolve
