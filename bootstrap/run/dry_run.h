// `--dry-run`: the programs that a plan would start, and their nodes, as far as that is known before the
// rendezvous. Nothing is started and no socket is opened.
#pragma once

#include <string>

#include "bootstrap/run/supervisor_plan.h"

namespace muster::run {

// `launcher`: the launcher of the processes: "slurm", "muster launch". Values that only the rendezvous
// decides are marked. Secrets are not shown: MUSTER_SECRET, and variables whose name has SECRET, TOKEN,
// PASSWORD or KEY.
std::string DryRunText(const SupervisorPlan& plan, const std::string& launcher);
std::string DryRunJson(const SupervisorPlan& plan, const std::string& launcher);

}  // namespace muster::run
