// Whether this process and its programs share a terminal.
#pragma once

namespace muster::process {

// Standard input is a terminal and this process is in its foreground group. A program in a process group of
// its own would then be stopped when it reads, and would not hear Ctrl-C.
bool InTerminalForeground();

}  // namespace muster::process
