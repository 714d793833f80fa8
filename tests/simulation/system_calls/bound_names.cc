// comm/net/bound_names.h for processes that share one memory: the names are those of the calling simulated process. This
// file takes the place of comm/net/bound_names.cc at link time.
#include "comm/net/bound_names.h"

#include <unistd.h>

#include <algorithm>

#include "tests/simulation/machine/world.h"
#include "tests/simulation/system_calls/exit.h"

namespace muster {
namespace net {

using simulation::KernelMemory;
using simulation::World;

// NOLINTNEXTLINE(performance-unnecessary-value-param): the copies are in the simulated kernel's memory
void RememberBoundName(std::string path, std::string directory) {
  const KernelMemory kernel;
  World::Caller()->bound_names[std::string(path)] = std::string(directory);
}

bool ForgetBoundName(const std::string& path) {
  const KernelMemory kernel;
  return World::Caller()->bound_names.erase(path) > 0;
}

bool IsBoundName(const std::string& path) { return World::Caller()->bound_names.contains(path); }

bool HasBoundNameIn(const std::string& directory) {
  return std::ranges::any_of(World::Caller()->bound_names,
                             [&](const auto& name) { return name.second == directory; });
}

}  // namespace net

namespace simulation {

void RemoveNamesAtExit() {
  for (const auto& [path, directory] : World::Caller()->bound_names) {
    unlink(path.c_str());
    rmdir(directory.c_str());
  }
}

}  // namespace simulation
}  // namespace muster
