#include "tests/gpu/places.h"

#include "bootstrap/data_options.h"
#include "bootstrap/launch/environment.h"

namespace muster {

LibraryPlaces PlacesOfThisProcess() { return LibraryPlacesIn(Environment::OfThisProcess()); }

}  // namespace muster
