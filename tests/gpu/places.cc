#include "tests/gpu/places.h"

#include <string>
#include <string_view>

#include "bootstrap/launch/environment.h"

namespace muster {

LibraryPlaces PlacesOfThisProcess() {
  const Environment environment = Environment::OfThisProcess();
  const auto value = [&](std::string_view name) { return std::string(environment.Get(name).value_or("")); };
  LibraryPlaces places;
  places.nccl_home = value("NCCL_HOME");
  places.cuda_home = value("CUDA_HOME");
  places.virtual_env = value("VIRTUAL_ENV");
  places.conda_prefix = value("CONDA_PREFIX");
  return places;
}

}  // namespace muster
