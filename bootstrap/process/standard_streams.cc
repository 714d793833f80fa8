#include "bootstrap/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace muster::process {

void OccupyStandardStreams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one. The wrong direction: EBADF.
    const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", direction | O_CLOEXEC) < 0) open("/", O_PATH | O_CLOEXEC);
  }
}

}  // namespace muster::process
