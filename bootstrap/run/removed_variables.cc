// What a program must not inherit, as visible data: of muster itself here, of a launcher in its row.
#include "bootstrap/run/program_environment.h"

namespace muster::run {
namespace {

constexpr RemovedVariable kOfMuster[] = {
    {"MUSTER_LAUNCHER", "chose how muster was started; the program was started by muster"},
    {"MUSTER_SECRET", "a secret; the program gets what it needs through the control socket"},
};

}  // namespace

std::vector<RemovedVariable> RemovedAlways(const resolve::LauncherTable& launchers) {
  std::vector<RemovedVariable> all(std::begin(kOfMuster), std::end(kOfMuster));
  for (const resolve::Launcher* launcher : launchers)
    all.insert(all.end(), launcher->removed.begin(), launcher->removed.end());
  return all;
}

}  // namespace muster::run
