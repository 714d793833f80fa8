#include "bootstrap/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster::process {

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

}  // namespace muster::process
