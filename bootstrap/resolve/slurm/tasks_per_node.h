// Slurm's run-length counts: SLURM_STEP_TASKS_PER_NODE=2(x3),1 means 2, 2, 2, 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::resolve {

// One count per node. Error: kBadEnvironment naming the text. At most 262144 nodes.
Result<std::vector<int>> ParseTasksPerNode(std::string_view text);

int64_t SumOf(const std::vector<int>& counts);

}  // namespace muster::resolve
