// The standard descriptors 0, 1 and 2 of this process.
#pragma once

namespace muster::process {

// Occupies those of them that were closed when this process started: else the next sockets of muster would be
// its standard streams, and logs and output would go there. Reading and writing still fail, as they do on a
// closed descriptor, and exec closes them again: programs start without them, as without muster. First thing
// in main; three system calls if none is closed.
void OccupyStandardStreams();

}  // namespace muster::process
