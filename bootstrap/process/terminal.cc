#include "bootstrap/process/terminal.h"

#include <unistd.h>

namespace muster::process {

bool InTerminalForeground() { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

}  // namespace muster::process
