// The launchers muster knows, in the order in which they are believed where several describe the same world.
// Adding one is one file with its probe (declared in probes.h), and one line in launchers.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bootstrap/launch/candidate.h"
#include "bootstrap/launch/environment.h"

namespace muster {

struct Launcher {
  std::string_view name;
  Probed (*probe)(const Environment&, const ProbeContext&);
};

std::span<const Launcher> Launchers();

// Null: no launcher is called so.
const Launcher* FindLauncher(std::string_view name);

// "explicit, muster, torchrun, ..., none"
std::string LauncherNames();

}  // namespace muster
