#include "bootstrap/data_options.h"

#include "comm/net/chosen_interfaces.h"

namespace muster {

DataOptions MakeDataOptions(const Environment& environment, const Config& config,
                            const TimeoutOptions& timeouts) {
  const auto value = [&](std::string_view name) { return std::string(environment.Get(name).value_or("")); };
  DataOptions options;
  options.timeouts = timeouts;
  options.backend = config.backend;
  options.nccl = config.nccl;
  const auto& pattern = config.nccl.interface ? config.nccl.interface : config.rendezvous.interface;
  if (config.backend != Backend::kSocket) options.interfaces = ChosenInterfaces(pattern);
  options.route_nccl_log = !environment.Has("NCCL_DEBUG_FILE");
  const std::string blocking = value("NCCL_COMM_BLOCKING");
  options.nccl_calls_block = !blocking.empty() && blocking != "0";
  const LibraryPlaces places{value("NCCL_HOME"), value("CUDA_HOME"), value("VIRTUAL_ENV"),
                             value("CONDA_PREFIX")};
  options.gpu = RealSurroundings(places, value("CUDA_VISIBLE_DEVICES"));
  return options;
}

}  // namespace muster
