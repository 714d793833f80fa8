// The standard input of this process: a terminal that it shares with its programs, or a lifeline.
#pragma once

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::process {

// Standard input is a terminal and this process is in its foreground group. A program in a process group of
// its own would then be stopped when it reads, and would not receive Ctrl-C.
bool InTerminalForeground();

// For a process that lives as long as another one holds the other end of its standard input. Takes the
// standard input away from this process and its programs, which read /dev/null from now on. The descriptor
// becomes readable and reaches its end when the other side is gone. Error: kSystem.
Result<UniqueFd> TakeStandardInput();

}  // namespace muster::process
