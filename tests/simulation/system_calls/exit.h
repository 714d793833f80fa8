#pragma once

namespace muster::simulation {

// What exit(3) does for the calling simulated process: removes its names in private directories.
void RemoveNamesAtExit();

}  // namespace muster::simulation
