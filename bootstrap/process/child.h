// One program: started, observed and ended. A resource: it does not move, and ends with its owner.
//
// The program inherits standard input, standard output (unless it is piped) and every descriptor with which
// this process itself was started (PMI_FD of an MPI launcher); descriptors that muster opens are
// close-on-exec. If this process ends in any way, the kernel kills the program (PR_SET_PDEATHSIG); a
// set-user-ID program escapes that, and so do the program's own children: KillDescendants in descendants.h is
// for those.
//
// Threads: one at a time, and Start in a thread that lives as long as the Child: the kernel's watch is on
// that thread. Nothing here blocks but Start, until the program's file is opened by execve(2).
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bootstrap/process/reaper.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::process {

struct ChildOptions {
  std::vector<std::string> command;      // argv; command[0] is searched as in ExecCandidates
  bool absolute = false;                 // on: as in AbsoluteCandidates
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::optional<std::string> directory;  // absent: this process's
  // Off if the program must stay in the terminal's foreground group (ctrl-C, reading from the terminal); then
  // Signal reaches the program alone, not its children.
  bool own_process_group = true;
  int stdin_end = -1;   // becomes the program's standard input; -1: it has ours
  int stdout_end = -1;  // the same for its standard output and error, if they are not piped
  int stderr_end = -1;
  bool pipe_stdout = false;  // on: TakeStdout returns the pipe of the program's output
  bool pipe_stderr = true;   // off: the program writes to our standard error itself
};

struct StartFailure {
  Error error;  // kSystem: "cannot start \"foo\": No such file or directory"
  // The exit status of a shell: 127 not found, 126 found but not to be started; 71 no process.
  int exit_status = 0;
};

class Child {
 public:
  // Signal dispositions are the defaults, but what was ignored when muster started stays ignored (nohup);
  // SIGPIPE, SIGXFSZ and SIGCHLD never are. No signal is blocked.
  static tl::expected<std::unique_ptr<Child>, StartFailure> Start(const ChildOptions& options);

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills the program (with its group) if it still runs, and waits for its end until a second after its first SIGKILL:
  // many that are killed first, then destroyed, are waited for together.
  ~Child();

  pid_t pid() const { return pid_; }
  // Whether it has ended by the deadline. BLOCKS until then at most; on a loop wait for SIGCHLD instead.
  bool AwaitExit(Deadline deadline) const { return exit_ || process_.AwaitExit(deadline); }
  // The read end of the program's standard error, non-blocking; once. Empty without pipe_stderr.
  UniqueFd TakeStderr() { return std::move(stderr_); }
  // The same for its standard output; empty without pipe_stdout.
  UniqueFd TakeStdout() { return std::move(stdout_); }

  // Absent while it runs. The process stays a zombie until Reap, so that its numbers cannot come to mean
  // another process.
  std::optional<ChildExit> Exited();
  // SIGTTIN or SIGTTOU: stopped by it, because it used the terminal and is not in its foreground group. SIGCHLD
  // announces it.
  std::optional<int> WaitsForTerminal() const { return process_.WaitsForTerminal(); }
  // To the whole process group if it has its own, also after the program itself has ended; else to the
  // program. No process left is no error. Error: kSystem.
  Status Signal(int signal_number);
  // SIGKILL has not ended it: it is not waited for (ClaimedChild::LeaveBehind).
  void LeaveBehind() const { process_.LeaveBehind(); }
  // Once Exited has a value: drops the process. From now on Signal does nothing.
  void Reap();

 private:
  Child(ClaimedChild process, bool own_process_group, UniqueFd stdout_end, UniqueFd stderr_end);

  const pid_t pid_;
  const bool own_process_group_;
  ClaimedChild process_;  // none once it is reaped
  UniqueFd stdout_;
  UniqueFd stderr_;
  std::optional<ChildExit> exit_;
  std::optional<Deadline> gone_by_;  // once SIGKILL is sent
};

}  // namespace muster::process
