// The part of starting a program that runs in the new process, before the program is there.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace muster::process {

// Everything that the new process needs, made ready beforehand: it shares our memory (vfork) and must not
// allocate.
struct ExecPlan {
  const char* const* candidates = nullptr;  // files to try, null-terminated
  char* const* arguments = nullptr;         // argv, null-terminated
  char* const* environment = nullptr;       // NAME=VALUE, null-terminated
  char** shell_arguments = nullptr;         // /bin/sh, (the file), argv[1]...: for a script without #!
  const char* directory = nullptr;          // null: stay
  int stdin_end = -1;                       // becomes standard input; -1: stays
  int stdout_end = -1;                      // becomes standard output; -1: stays
  int stderr_end = -1;                      // becomes standard error; -1: stays
  bool own_process_group = false;
  const rlimit* descriptors = nullptr;  // the limit on open files for the program; null: ours
};

struct ExecOutcome {
  pid_t pid = -1;          // -1: no process
  int error_number = 0;    // not 0: there is no program
  bool directory = false;  // it is the directory that could not be entered
};

// Starts the program and returns once it runs, or once that has failed and the process is gone again.
ExecOutcome ExecChild(const ExecPlan& plan);

}  // namespace muster::process
