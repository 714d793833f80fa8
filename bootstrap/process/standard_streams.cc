#include "bootstrap/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace muster::process {
namespace {

// The errno of the first write that failed; 0 if there is none.
int output_problem = 0;

Status Keep(bool written) {
  if (!written && output_problem == 0) output_problem = errno;
  if (!OutputHasFailed()) return {};
  return Fail(Code::kSystem, "cannot write standard output: {}", ErrnoText(output_problem));
}

}  // namespace

void OccupyStandardStreams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one. The wrong direction: EBADF.
    const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", direction | O_CLOEXEC) < 0) open("/", O_PATH | O_CLOEXEC);
  }
}

bool InTerminalForeground() { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

Result<UniqueFd> TakeStandardInput() {
  UniqueFd lifeline(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!lifeline || !nothing || dup2(nothing.get(), STDIN_FILENO) < 0) {
    return Fail(Code::kSystem, "cannot watch the standard input: {}", ErrnoText(errno));
  }
  fcntl(lifeline.get(), F_SETFL, O_NONBLOCK);
  return lifeline;
}

Status Print(std::string_view text) {
  return Keep(output_problem == 0 && std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

Status FlushOutput() { return Keep(output_problem == 0 && std::fflush(stdout) == 0); }

bool OutputHasFailed() { return output_problem != 0 && output_problem != EPIPE; }

}  // namespace muster::process
