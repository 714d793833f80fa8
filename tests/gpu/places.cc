#include "tests/gpu/places.h"

#include "bootstrap/environment/environment.h"
#include "bootstrap/join/data_options.h"

namespace muster {

nccl::LibraryPlaces PlacesOfThisProcess() { return join::LibraryPlacesIn(Environment::OfThisProcess()); }

}  // namespace muster
