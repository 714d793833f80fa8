// One probe per launcher, each in the file that bears its name. Pure functions: see candidate.h.
#pragma once

#include "bootstrap/launch/candidate.h"
#include "bootstrap/launch/environment.h"

namespace muster {

Probed ProbeMuster(const Environment& environment, const ProbeContext& context);
Probed ProbeExplicit(const Environment& environment, const ProbeContext& context);
Probed ProbeTorchrun(const Environment& environment, const ProbeContext& context);
Probed ProbeDeepspeed(const Environment& environment, const ProbeContext& context);
Probed ProbeOpenmpi(const Environment& environment, const ProbeContext& context);
Probed ProbeHydra(const Environment& environment, const ProbeContext& context);
Probed ProbeSlurm(const Environment& environment, const ProbeContext& context);
Probed ProbePmix(const Environment& environment, const ProbeContext& context);
Probed ProbePmi(const Environment& environment, const ProbeContext& context);
Probed ProbeTorchEnv(const Environment& environment, const ProbeContext& context);
Probed ProbeNone(const Environment& environment, const ProbeContext& context);

}  // namespace muster
