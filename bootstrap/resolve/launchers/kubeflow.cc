// Kubeflow: PyTorchJob of the training operator (v1) and TrainJob of the trainer (v2). From their source,
// never run here. All of it counts pods:
//   v1: RANK (the pod), WORLD_SIZE (pods x processes), MASTER_ADDR MASTER_PORT, PET_NODE_RANK PET_NNODES
//       PET_NPROC_PER_NODE
//   v2: PET_NODE_RANK PET_NNODES PET_NPROC_PER_NODE PET_MASTER_ADDR PET_MASTER_PORT
// PET_* are torchrun's inputs (users export them elsewhere, too): its workers are ranks (torchrun.cc), the
// pod is not.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

Probed ProbeKubeflow(const Environment& environment, const ProbeContext&) {
  const auto node = environment.Get("PET_NODE_RANK");
  const auto nodes = environment.Get("PET_NNODES");
  if (!node && !nodes) return Absent{"no PET_NODE_RANK"};
  if (environment.Has("LOCAL_RANK") || environment.Has("TORCHELASTIC_RUN_ID")) {
    return Absent{"PET_NODE_RANK is torchrun's input, and this is one of its workers"};
  }
  if (nodes == "1" && environment.Get("PET_NPROC_PER_NODE").value_or("1") == "1") {
    return Absent{"PET_NNODES=1: one pod of one process"};
  }
  return NodeScoped(
      fmt::format("PET_NODE_RANK={} of PET_NNODES={} numbers pods", node.value_or("?"), nodes.value_or("?")),
      "start the ranks of this pod with torchrun, which reads PET_*");
}

constexpr std::string_view kOthers[] = {"PET_NODE_RANK", "PET_NNODES", "PET_NPROC_PER_NODE"};

constexpr OuterVariable kPerRank[] = {
    {"JAX_PROCESS_ID", Becomes::kRank, "Kubeflow: rank for JAX"},
    {"JAX_NUM_PROCESSES", Becomes::kWorldSize, "Kubeflow: size for JAX"},
};

}  // namespace

constinit const Launcher kKubeflowLauncher{
    .name = "kubeflow",
    .probe = ProbeKubeflow,
    .documented = "a pod of Kubeflow",
    .others = kOthers,
    .note = "they count pods and are never a rank; so does `RANK` of PyTorchJob v1",
    .per_rank = kPerRank,
    .meets = Meets::kNowhere,
};

}  // namespace muster::resolve
