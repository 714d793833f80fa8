// No orphans: what a program leaves behind, also what made itself a daemon (setsid, double fork), comes to
// this process and is ended by it. About the whole process, not one Child: who started a process is no longer
// known when it comes.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster {

// From now on processes whose parent dies become children of this one (prctl(2), PR_SET_CHILD_SUBREAPER)
// instead of init's. Once, before the first Child. Error: kSystem.
Status BecomeSubreaper();

// The children of this process, all threads together, zombies included. From /proc/self/task/*/children, or
// where the kernel has no such file from all of /proc. Error: kSystem.
Result<std::vector<pid_t>> ChildProcesses();

// The second of these ways, which looks at every process of the machine.
std::vector<pid_t> ChildProcessesByScan();

// Forgets the zombies among the children but those in `keep` (the Childs' own). Does not block; for SIGCHLD.
void ReapOrphans(std::span<const pid_t> keep);

// Kills all children but those in `keep`, then what they leave to us, until nobody is left. `keep` are
// programs that have ended (Child::Exited): their descendants are ours by now. Costs one system call
// where there is nobody. Error: kDeadline or kSystem, naming a process that would not die or may not be
// killed.
Status KillDescendants(std::span<const pid_t> keep, Deadline deadline);

}  // namespace muster
