#include "bootstrap/resolve/launchers/launchers.h"

#include "bootstrap/resolve/launchers/probes.h"

namespace muster::resolve {
namespace {

constexpr Launcher kLaunchers[] = {
#define MUSTER_LAUNCHER(name, probe, ...) {name, probe, {__VA_ARGS__}},
#include "bootstrap/resolve/launchers/launchers.inc"
#undef MUSTER_LAUNCHER
};

}  // namespace

std::span<const Launcher> Launchers() { return kLaunchers; }

const Launcher* FindLauncher(std::string_view name) {
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.name == name) return &launcher;
  }
  return nullptr;
}

Launcher::Traits TraitsOf(std::string_view name) {
  const Launcher* launcher = FindLauncher(name);
  return launcher == nullptr ? Launcher::Traits{} : launcher->traits;
}

std::string LauncherNames() {
  std::string names;
  for (const Launcher& launcher : kLaunchers) {
    if (!names.empty()) names += ", ";
    names += launcher.name;
  }
  return names;
}

}  // namespace muster::resolve
