// The one way to start a program: from vfork(2) to execve(2).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::process {

// The files to try in order, by execvp's rules with the PATH that the program itself gets. A name with a
// slash is taken unchanged; else NAME in each directory of PATH in `environment` (NAME=VALUE), an empty entry
// meaning the working directory; "/usr/local/bin:/bin:/usr/bin" if there is no PATH. Pure: touches no file.
// An empty name gives nothing.
std::vector<std::string> ExecCandidates(std::string_view name, const std::vector<std::string>& environment);

// For a program that muster itself needs: not in the working directory or below it (an empty entry, "."), because
// another user may have put something there.
std::vector<std::string> AbsoluteCandidates(std::string_view name,
                                            const std::vector<std::string>& environment);

struct ExecRequest {
  std::vector<std::string> candidates;                  // files to try in order
  std::vector<std::string> arguments;                   // argv, not empty
  std::vector<std::string> environment;                 // NAME=VALUE
  std::optional<std::string> directory = std::nullopt;  // absent: stay
  int stdin_end = -1;                                   // becomes standard input; -1: stays
  int stdout_end = -1;                                  // becomes standard output; -1: stays
  int stderr_end = -1;                                  // becomes standard error; -1: stays
  bool own_process_group = false;
  std::optional<rlimit> descriptors = std::nullopt;  // the limit on open files for the program; absent: ours
};

struct ExecOutcome {
  pid_t pid = -1;          // -1: no process
  int error_number = 0;    // not 0: there is no program
  bool directory = false;  // it is the directory that could not be entered
};

// Starts the program and returns once it runs, or once that has failed and the process is gone again. A script
// without #! runs in /bin/sh. The program is killed when the calling thread ends.
ExecOutcome ExecChild(const ExecRequest& request);

}  // namespace muster::process
