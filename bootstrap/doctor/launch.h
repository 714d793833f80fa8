// What this process would be, if it were to form a group now.
#pragma once

#include "bootstrap/doctor/finding.h"
#include "bootstrap/resolve/detect.h"

namespace muster::doctor {

Finding JudgeLaunch(const tl::expected<resolve::Resolution, resolve::Refusal>& resolved);

}  // namespace muster::doctor
