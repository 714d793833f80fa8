#include "tests/gpu/places.h"

#include "bootstrap/environment/environment.h"
#include "bootstrap/join/data_options.h"

namespace muster {

LibraryPlaces PlacesOfThisProcess() { return LibraryPlacesIn(Environment::OfThisProcess()); }

}  // namespace muster
