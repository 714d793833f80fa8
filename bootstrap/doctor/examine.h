// All subjects of `muster doctor`, in the order in which they are shown.
#pragma once

#include <vector>

#include "bootstrap/doctor/findings.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/deadline.h"

namespace muster::doctor {

// Takes no part in a group and leaves nothing behind. BLOCKS while it queries munged, srun, muster-slurm, CUDA and NCCL, one
// after another, for at most `each`.
std::vector<Finding> Examine(const Environment& environment, const config::Config& config,
                             const join::StartOptions& asked, Duration each);

// The last of them: the tuple that this process would have in a group now. Pure.
Finding JudgeLaunch(const tl::expected<resolve::Resolution, resolve::Refusal>& resolved);

}  // namespace muster::doctor
