// `--dry-run`: what a plan would start, and where, as far as that is known before the ranks have met. Nothing is
// started and no socket is opened.
#pragma once

#include <string>

#include "bootstrap/run/supervisor_plan.h"

namespace muster::run {

// `launcher`: what starts the processes: "slurm", "muster launch". Values that only the meeting decides are named as
// such. Secrets are not shown: MUSTER_SECRET, and variables whose name has SECRET, TOKEN, PASSWORD or KEY.
std::string DryRunText(const SupervisorPlan& plan, const std::string& launcher);
std::string DryRunJson(const SupervisorPlan& plan, const std::string& launcher);

}  // namespace muster::run
