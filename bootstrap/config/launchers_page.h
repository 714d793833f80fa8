// LAUNCHERS.md: the launchers, the meeting of their ranks and their variables, for users.
#pragma once

#include <string>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {

std::string LaunchersPage(const LauncherTable& launchers = Launchers());

}  // namespace muster::resolve
