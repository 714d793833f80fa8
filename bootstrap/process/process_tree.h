// The processes that a program has started, from /proc. They start and end during the reading: each result
// describes a moment in the past.
//
// Threads: any. Nothing waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace muster::process {

// The process and all its descendants, parents before their children. Those whose parent has ended are
// missing, except in the subreaper's own tree.
std::vector<pid_t> ProcessTree(pid_t root);

// Distinguishes a program from another one that gets the same process number, or that replaces it by
// execve(2).
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t started = 0;  // clock ticks since boot
  uint64_t stack = 0;    // the start of its stack, which each execve draws anew; 0: not shown

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
// Absent if it has ended (zombies included) or /proc hides it.
std::optional<ProcessIdentity> IdentityOf(pid_t pid);

// Whether it has the socket of this inode open. False if its descriptors may not be read.
bool HoldsSocket(pid_t pid, uint64_t inode);

}  // namespace muster::process
