#include "bootstrap/resources/ranks_per_node.h"

#include <algorithm>

#include "bootstrap/resources/gpu_count.h"
#include "bootstrap/resources/threads.h"
#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr int kMostRanks = 4096;

}  // namespace

Processors ProcessorsOfThisNode(const std::map<std::string, std::string, std::less<>>& environment) {
  Processors processors;
  const GpuCount count = CountGpus(environment);
  processors.gpus = count.gpus;
  processors.no_gpu = count.reason;
  processors.cpus = std::max(1, UsableCpus());
  return processors;
}

Result<int> ParseRanksPerNode(std::string_view option, std::string_view text,
                              const std::function<Processors()>& look) {
  if (text != "gpu" && text != "cpu" && text != "auto") {
    const auto number = ParseInteger<int>(text);
    if (number && *number >= 1 && *number <= kMostRanks) return *number;
    return WithHint(
        Fail(Code::kUsage, "{} \"{}\" is not a number of ranks (1 to {})", option, text, kMostRanks),
        "write a number, gpu, cpu or auto");
  }
  const Processors processors = look();
  if (text == "gpu" && processors.gpus == 0) {
    return WithHint(Fail(Code::kUsage, "{} gpu: this node has no GPU that this process may use: {}", option,
                         processors.no_gpu),
                    "give a number, or auto");
  }
  return text == "cpu" || processors.gpus == 0 ? processors.cpus : processors.gpus;
}

}  // namespace muster
