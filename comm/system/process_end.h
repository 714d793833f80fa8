// The end of a process, of a child or of another one of this node.
//
// pidfd_open(2) makes it an event. Without that call (kernels before 5.3, the filters of some containers) the
// process must be polled: by its /proc/PID/stat, opened once, which never refers to another process with the
// same number. If /proc hides it, by kill(2), which may.
//
// Threads: any. A value that moves.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"

namespace muster {

class ProcessEnd {
 public:
  // `pid` is positive, and of this process's PID namespace.
  static ProcessEnd Of(pid_t pid);

  // Readable (POLLIN) once the process has ended. -1: there is no such event; call HasEnded at intervals.
  int fd() const { return pidfd_.get(); }
  // A zombie has ended. Does not block.
  bool HasEnded() const;
  // HasEnded, by the deadline. BLOCKS until then at most.
  bool Await(Deadline deadline) const;

 private:
  explicit ProcessEnd(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  UniqueFd pidfd_;
  UniqueFd stat_;      // /proc/PID/stat; without a pidfd
  bool gone_ = false;  // there was no such process to begin with
};

// True if /proc/PID/stat is that of a process that has ended. Pure; for ProcessEnd.
bool IsStatOfEnded(std::string_view stat);

// True if /proc/PID/stat is that of a process whose first thread exits or has ended: its memory, and with it
// its environment, may be gone before it is a zombie. Pure.
bool IsStatOfExiting(std::string_view stat);

}  // namespace muster
