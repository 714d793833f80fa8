// No orphans: processes that a program leaves behind, also daemons (setsid, double fork), become children of
// this process, which ends them. About the whole process, not one Child: an orphan does not show which
// process started it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::process {

// From now on processes whose parent dies become children of this one (prctl(2), PR_SET_CHILD_SUBREAPER)
// instead of init's. Before the first Child. The children that this process already has are not killed by the
// functions below: a shell that starts muster by exec leaves it its helpers. A process that such a helper
// leaves behind when it ends is an orphan like any other. Error: kSystem.
Status BecomeSubreaper();

// The children of this process, all threads together, zombies included. From /proc/self/task/*/children, or
// if the kernel has no such file from all of /proc. Error: kSystem.
Result<std::vector<pid_t>> ChildProcesses();

// The second of these ways, which reads every process of the machine.
std::vector<pid_t> ChildProcessesByScan();

// Reaps the children that have ended, except claimed ones (reaper.h). Does not block; for SIGCHLD.
void ReapOrphans();

// After reaping those that have ended: whether KillDescendants would kill a child that is not claimed. Costs
// one system call if there is no child.
bool HaveOrphans();

// Kills all children but those, then what they leave to this process, until none is left. Claimed children
// (reaper.h) are killed as well; once they have ended their owners reap them. Costs one system call if there
// is no child. Error: kDeadline or kSystem, naming a process that does not end or may not be killed.
Status KillDescendants(Deadline deadline);

// Kills the orphans of this process that have this NAME=VALUE in their environment, then those that these
// leave to it, until none is left. Claimed children (reaper.h) are none. Costs one system call if there is no
// child. Error: kDeadline or kSystem, as KillDescendants.
Status KillOrphansWith(const std::string& variable, Deadline deadline);

// Processes that a killed supervisor leaves behind on its node: its program ends with it, the program's own
// children do not. Kills this user's processes whose environment has this rank of this group. For the
// surviving supervisors of the node. The group id is random, so nothing else can match. Reads /proc; does not
// wait.
void KillProcessesOfRank(const std::string& group_id, int rank);

}  // namespace muster::process
