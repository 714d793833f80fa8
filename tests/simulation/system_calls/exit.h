#pragma once

namespace muster::simulation {

// The work of exit(3) for the calling simulated process: removes its names in private directories.
void RemoveNamesAtExit();

}  // namespace muster::simulation
