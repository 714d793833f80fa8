// An indexed Job of Kubernetes, one process in each pod. From documentation, never run here.
//   JOB_COMPLETION_INDEX   the pod, and so the rank
//   WORLD_SIZE             only the manifest sets it; the API alone has the number of pods
//   MASTER_ADDR MASTER_PORT   from the manifest as well: a headless service's name for pod 0
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

// A program in the pod counts its own processes or nodes.
bool IsAnothers(const Environment& environment) {
  for (const char* name : {"RANK", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "PET_NODE_RANK", "PET_NNODES",
                           "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (environment.Has(name)) return true;
  }
  return false;
}

Probed ProbeKubernetes(const Environment& environment, const ProbeContext&) {
  const auto index = environment.Get(kKubernetesLauncher.tuple.rank);
  if (!index) return Absent{"no JOB_COMPLETION_INDEX"};
  if (IsAnothers(environment))
    return Absent{"JOB_COMPLETION_INDEX counts pods, and there is a launcher in this one"};
  if (!environment.Has(kKubernetesLauncher.tuple.world_size)) {
    return Incomplete{
        {Code::kBadEnvironment,
         fmt::format("JOB_COMPLETION_INDEX={} is this pod's number, but the number of pods is unknown",
                     *index),
         "set WORLD_SIZE to the number of pods and MASTER_ADDR and MASTER_PORT to pod 0 in the manifest"},
        fmt::format("JOB_COMPLETION_INDEX={}", *index)};
  }
  return ProbeTorchRow(environment, kKubernetesLauncher.row());
}

}  // namespace

constinit const Launcher kKubernetesLauncher{
    .name = "kubernetes",
    .probe = ProbeKubernetes,
    .documented = "Kubernetes, indexed Job",
    .tuple = {.rank = "JOB_COMPLETION_INDEX", .world_size = "WORLD_SIZE"},
    .note = "`WORLD_SIZE` comes from the manifest",
    .meets = Meets::kMaster,
    .has_signature = false,
};

}  // namespace muster::resolve
