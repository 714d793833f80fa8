// One probe per launcher, each in the file that bears its name. Pure functions: see candidate.h.
#pragma once

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"

namespace muster::resolve {

#define MUSTER_LAUNCHER(name, probe, ...) \
  Probed probe(const Environment& environment, const ProbeContext& context);
#include "bootstrap/resolve/launchers/launchers.inc"
#undef MUSTER_LAUNCHER

}  // namespace muster::resolve
