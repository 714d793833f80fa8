// The processes that a program has started, as /proc shows them. They come and go while one looks: what is
// said here was true a moment ago.
//
// Threads: any. Nothing waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace muster::process {

// The process and all its descendants, parents before their children. Those whose parent has died are not
// among them, but for the subreaper's own tree.
std::vector<pid_t> ProcessTree(pid_t root);

// What tells a program from another one that gets the same process number, or that takes its place by
// execve(2).
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t started = 0;  // clock ticks since boot
  uint64_t stack = 0;    // where its stack begins, which is drawn anew by each execve; 0: not shown

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
// Absent where it has ended (zombies included) or /proc hides it.
std::optional<ProcessIdentity> IdentityOf(pid_t pid);

// Whether it has the socket of this inode open. False where its descriptors may not be read.
bool HoldsSocket(pid_t pid, uint64_t inode);

}  // namespace muster::process
