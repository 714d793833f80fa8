// The CPUs that a process may run on: sets of any size. cpu_set_t ends at 1024, and the kernel refuses it if the
// node may have more CPUs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <vector>

#include "comm/base/error.h"

namespace muster {

// Of the calling thread, ascending. Absent: they cannot be read.
std::optional<std::vector<int>> CpusOf();

// How many of these processes of this node may use a CPU that the calling thread may use. Processes whose CPUs
// cannot be read count.
int CountSharers(std::span<const pid_t> processes);

// The calling thread, and the programs that it starts, run on these only. Error: kSystem, the kernel's reason.
Status RunOn(std::span<const int> cpus);

}  // namespace muster
