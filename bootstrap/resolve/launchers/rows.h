// The row of every launcher, each in the file of its name.
#pragma once

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {

#define MUSTER_LAUNCHER(row) extern const Launcher row;
#include "bootstrap/resolve/launchers/launchers.inc"
#undef MUSTER_LAUNCHER

}  // namespace muster::resolve
