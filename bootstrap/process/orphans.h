// What a supervisor that was killed leaves behind on its node: its program dies with it, the program's own
// children do not.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster::process {

// Kills this user's processes whose environment says that they belong to this rank of this group. For the
// surviving supervisors of the node. The group id is random, so nothing else can be meant. Reads /proc; does
// not wait.
void KillProcessesOfRank(const std::string& group_id, int rank);

}  // namespace muster::process
