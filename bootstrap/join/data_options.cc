#include "bootstrap/join/data_options.h"

#include "comm/net/hosts.h"

namespace muster::join {

nccl::LibraryPlaces LibraryPlacesIn(const Environment& environment) {
  const auto value = [&](std::string_view name) { return std::string(environment.Get(name).value_or("")); };
  nccl::LibraryPlaces places;
  places.nccl_home = value("NCCL_HOME");
  places.cuda_home = value("CUDA_HOME");
  places.virtual_env = value("VIRTUAL_ENV");
  places.conda_prefix = value("CONDA_PREFIX");
  places.user_base = value("PYTHONUSERBASE");
  if (const std::string home = value("HOME"); places.user_base.empty() && !home.empty()) {
    places.user_base = home + "/.local";
  }
  return places;
}

DataOptions MakeDataOptions(const Environment& environment, const config::Config& config,
                            const TimeoutOptions& timeouts) {
  const auto value = [&](std::string_view name) { return std::string(environment.Get(name).value_or("")); };
  DataOptions options;
  options.timeouts = timeouts;
  options.backend = config.backend;
  options.protect = config.rendezvous.protect;
  options.nccl = config.nccl;
  const auto& pattern = config.nccl.interface ? config.nccl.interface : config.rendezvous.interface;
  if (config.backend != Backend::kSocket) options.interfaces = net::ChosenInterfaces(pattern);
  options.route_nccl_log = !environment.Has("NCCL_DEBUG_FILE");
  const std::string blocking = value("NCCL_COMM_BLOCKING");
  options.nccl_not_blocking = !blocking.empty() && blocking != "1";
  options.gpu = nccl::RealSurroundings(LibraryPlacesIn(environment), value("CUDA_VISIBLE_DEVICES"));
  return options;
}

}  // namespace muster::join
