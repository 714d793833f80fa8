#include "bootstrap/launch/launchers.h"

#include "bootstrap/launch/probes.h"

namespace muster {
namespace {

// The most specific signature first. torch-env comes after everything that starts processes itself: a RANK
// exported by hand in a batch script is the classic stale value.
constexpr Launcher kLaunchers[] = {
    {"explicit", ProbeExplicit},    //
    {"muster", ProbeMuster},        //
    {"torchrun", ProbeTorchrun},    //
    {"deepspeed", ProbeDeepspeed},  //
    {"openmpi", ProbeOpenmpi},      //
    {"hydra", ProbeHydra},          //
    {"slurm", ProbeSlurm},          //
    {"pmix", ProbePmix},            //
    {"pmi", ProbePmi},              //
    {"torch-env", ProbeTorchEnv},   //
    {"none", ProbeNone},            //
};

}  // namespace

std::span<const Launcher> Launchers() { return kLaunchers; }

const Launcher* FindLauncher(std::string_view name) {
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.name == name) return &launcher;
  }
  return nullptr;
}

std::string LauncherNames() {
  std::string names;
  for (const Launcher& launcher : kLaunchers) {
    if (!names.empty()) names += ", ";
    names += launcher.name;
  }
  return names;
}

}  // namespace muster
