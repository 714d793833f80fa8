// One probe per launcher, each in the file that bears its name. Pure functions: see candidate.h.
#pragma once

#include "bootstrap/launch/candidate.h"
#include "bootstrap/launch/environment.h"

namespace muster {

#define MUSTER_LAUNCHER(name, probe, ...) \
  Probed probe(const Environment& environment, const ProbeContext& context);
#include "bootstrap/launch/launchers.inc"
#undef MUSTER_LAUNCHER

}  // namespace muster
