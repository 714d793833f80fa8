// The stack of a process: the kernel's part, and the program's own frames by an installed tool (py-spy for
// Python; eu-stack, gdb or pstack).
//
// The tools stop the process for a moment and let it go on; if a tool left a process stopped, because the
// tool was ended at the deadline, SIGCONT continues it. Reading another process takes ptrace's rights: the
// same user, and if kernel.yama.ptrace_scope is 1 or more, root.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/process/captured.h"
#include "comm/base/deadline.h"

namespace muster::process {

// The commands to run, in order; the first that is installed counts. PID is replaced by the process number.
struct StackTool {
  std::string name;
  std::vector<std::string> command;
};
std::vector<StackTool> StackTools(bool python);

// Several lines; also names the missing tools for more. BLOCKS until the tool has ended, at most until the
// deadline; it is ended then. `path`: PATH, in which the tools are searched.
std::string ReadStack(pid_t pid, std::string_view path, Deadline deadline);

// The process that works: programs are often started by a shell that waits for its only child.
pid_t WorkingProcess(pid_t pid);

// The output of `command`, standard error included, at most 64 KiB; empty `output` and a reason if it could
// not be run. BLOCKS at most until the deadline. Threads: any.
ToolOutput RunTool(const std::vector<std::string>& command, std::string_view path, Deadline deadline);

}  // namespace muster::process
