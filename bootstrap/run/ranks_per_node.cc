#include "bootstrap/run/ranks_per_node.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr int kMostRanks = 4096;

int GpusInDev() {
  constexpr std::string_view kPrefix = "nvidia";
  std::error_code ignored;
  int gpus = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename();
    gpus +=
        name.starts_with(kPrefix) && ParseInteger<int>(std::string_view(name).substr(kPrefix.size())) ? 1 : 0;
  }
  return gpus;
}

// "0,1,MIG-5c6...": as CUDA does, up to the first that is no device.
int GpusIn(std::string_view visible_devices) {
  int gpus = 0;
  for (const std::string_view device : Split(visible_devices, ',')) {
    const std::string_view name = Trim(device);
    if (name.empty() || name.starts_with('-') || name == "NoDevFiles") break;
    ++gpus;
  }
  return gpus;
}

}  // namespace

Processors ProcessorsOfThisNode(const std::optional<std::string>& visible_devices) {
  Processors processors;
  processors.gpus = visible_devices ? GpusIn(*visible_devices) : GpusInDev();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) processors.cpus = std::max(1, CPU_COUNT(&cpus));
  return processors;
}

Result<int> ParseRanksPerNode(std::string_view text, const Processors& processors) {
  if (text == "gpu" && processors.gpus == 0) {
    return WithHint(
        Fail(Code::kUsage, "--nproc-per-node gpu: this node has no GPU that this process may use"),
        "give a number, or auto");
  }
  if (text == "gpu" || (text == "auto" && processors.gpus > 0)) return processors.gpus;
  if (text == "cpu" || text == "auto") return processors.cpus;
  const auto number = ParseInteger<int>(text);
  if (!number || *number < 1 || *number > kMostRanks) {
    return WithHint(
        Fail(Code::kUsage, "--nproc-per-node \"{}\" is not a number of ranks (1 to {})", text, kMostRanks),
        "a number, gpu, cpu or auto");
  }
  return *number;
}

}  // namespace muster
