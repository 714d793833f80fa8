// All that `muster doctor` looks at, in the order in which it is shown.
#pragma once

#include <vector>

#include "bootstrap/doctor/finding.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/deadline.h"

namespace muster::doctor {

// Takes no part in a group and leaves nothing behind. BLOCKS while programs and libraries are asked, at most
// until the deadline.
std::vector<Finding> Examine(const Environment& environment, const config::Config& config,
                             const join::StartOptions& asked, Deadline deadline);

// The last of them: what this process would be if it formed a group now. Pure.
Finding JudgeLaunch(const tl::expected<resolve::Resolution, resolve::Refusal>& resolved);

}  // namespace muster::doctor
