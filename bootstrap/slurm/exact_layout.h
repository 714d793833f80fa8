// The layouts of a step's components, from Slurm's controller, to one Placement. Pure.
#pragma once

#include <optional>
#include <vector>

#include "bootstrap/slurm/slurm_answer.h"
#include "comm/meeting.h"

namespace muster::slurm {

// `known`: the environment's nodes and numbers of tasks, which the result must have. So must it have the
// ranks in `here`, those of the node called `node`. The ranks of a component follow those of the components
// before it; one that is null takes no part in the step. Absent if it does not fit: then the layout is of
// another step.
std::optional<Placement> ExactLayout(const Placement& known,
                                     const std::vector<std::optional<SlurmAnswer::Layout>>& components,
                                     const std::string& node, const std::vector<int>& here);

}  // namespace muster::slurm
