#include "tests/gpu/places.h"

#include <string>
#include <string_view>

#include "bootstrap/launch/environment.h"

namespace muster {

LibraryPlaces PlacesOfThisProcess() {
  const Environment environment = Environment::OfThisProcess();
  const auto value = [&](std::string_view name) { return std::string(environment.Get(name).value_or("")); };
  return {value("NCCL_HOME"), value("CUDA_HOME"), value("VIRTUAL_ENV"), value("CONDA_PREFIX")};
}

}  // namespace muster
