// SageMaker. From its source, never run here: sagemaker-training-toolkit. It counts hosts:
//   SM_HOSTS (["algo-1","algo-2"]) SM_CURRENT_HOST SM_NUM_GPUS
// Its torchrun and mpirun set the ranks (torchrun.cc, openmpi.cc); the container's own process is none.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

Probed ProbeSagemaker(const Environment& environment, const ProbeContext&) {
  const auto host = environment.Get("SM_CURRENT_HOST");
  const auto hosts = environment.Get("SM_HOSTS");
  if (!host || !hosts) return Absent{"no SM_CURRENT_HOST"};
  if (environment.Has("LOCAL_RANK") || environment.Has("OMPI_COMM_WORLD_RANK")) {
    return Absent{"SM_HOSTS counts hosts, and this is a rank on one of them"};
  }
  if (hosts->find(',') == std::string_view::npos) return Absent{"SM_HOSTS is one host"};
  return NodeScoped(
      fmt::format("SM_CURRENT_HOST={} of SM_HOSTS={} names hosts", *host, *hosts),
      "start the ranks of this host with torchrun or mpirun (SageMaker's distribution setting)");
}

constexpr std::string_view kOthers[] = {"SM_HOSTS", "SM_CURRENT_HOST"};

}  // namespace

constinit const Launcher kSagemakerLauncher{
    .name = "sagemaker",
    .probe = ProbeSagemaker,
    .documented = "a container of SageMaker",
    .others = kOthers,
    .note = "they count hosts and are never a rank",
    .meets = Meets::kNowhere,
};

}  // namespace muster::resolve
