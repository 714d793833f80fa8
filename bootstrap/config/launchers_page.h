// LAUNCHERS.md: the launchers, the rendezvous of their ranks and their variables, for users.
#pragma once

#include <string>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::config {

std::string LaunchersPage(const resolve::LauncherTable& launchers = resolve::Launchers());

}  // namespace muster::config
