// Warnings about a winner whose variables may be older than its job or step: a user or another process has set them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/entry.h"
#include "bootstrap/resolve/slurm/allocation.h"

namespace muster::resolve {

// `slurm`: the entry of the step's tasks. `allocation`: absent if this process is one of them.
std::vector<std::string> WarningsOfLeftOver(const Entry& winner, const Entry& slurm,
                                            const std::optional<Allocation>& allocation,
                                            const Environment& environment);

}  // namespace muster::resolve
