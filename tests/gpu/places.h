// The folders in which this process searches for the libraries, from its environment, as muster's Init does
// it.
#pragma once

#include "comm/nccl/libraries/library_files.h"

namespace muster {

nccl::LibraryPlaces PlacesOfThisProcess();

}  // namespace muster
