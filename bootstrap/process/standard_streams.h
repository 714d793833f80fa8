// The standard descriptors 0, 1 and 2 of this process.
#pragma once

#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::process {

// Occupies those of them that were closed when this process started: else the next sockets of muster would be
// its standard streams, and logs and output would go there. Reading and writing still fail, as they do on a
// closed descriptor, and exec closes them again: programs start without them, as without muster. First thing
// in main; three system calls if none is closed.
void OccupyStandardStreams();

// Standard input is a terminal and this process is in its foreground group. A program in a process group of
// its own would then be stopped when it reads, and would not receive Ctrl-C.
bool InTerminalForeground();

// For a process that lives as long as another one holds the other end of its standard input. Takes the
// standard input away from this process and its programs, which read /dev/null from now on. The descriptor
// becomes readable and reaches its end when the other side is gone. Error: kSystem.
Result<UniqueFd> TakeStandardInput();

// The facts that the user asked for; commands write them by these functions alone. Kept in a buffer, until FlushOutput or
// the end. Error: kSystem; after one nothing more is written. A reader that has gone is no error: the rest is dropped.
// One thread.
Status Print(std::string_view text);
// For a program that waits for the text, and before a line on standard error.
Status FlushOutput();
// Print or FlushOutput has returned an error.
bool OutputHasFailed();

}  // namespace muster::process
