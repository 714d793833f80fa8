// Descriptors that a forked child does not keep. Otherwise a worker that a program forks would hold its
// parent's connections open after the parent's exit, and the peers would not notice that exit. In a child of
// fork(2) they refer to /dev/null; their numbers stay taken, so that no code in the child mistakes a new file
// for them. Children that exec anyhow, and those of vfork and posix_spawn, are not touched: the descriptors
// are close-on-exec.
//
// One list for the process, since fork is of the process. Threads: any.
#pragma once

namespace muster {

void CloseInForkedChildren(int fd);
// Before the descriptor is closed.
void ForgetForForks(int fd);

// The number of fork(2) calls between this process and the first one. An object that keeps the number of its
// creation detects that it is used in a child; unlike getpid() this costs no system call.
int ForkDepth();

}  // namespace muster
