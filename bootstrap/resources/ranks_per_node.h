// How many ranks a node is to have: "8", "gpu", "cpu" or "auto", as torchrun's --nproc-per-node reads it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster {

// Of this node, as this process may use it.
struct Processors {
  int gpus = 0;
  int cpus = 1;
  std::string no_gpu;  // why there is none
};

// GPUs: CountGpus.
Processors ProcessorsOfThisNode(const std::map<std::string, std::string, std::less<>>& environment);

// auto: the GPUs, if there is one, else the CPUs. `look` is called for every word except a number. Error:
// kUsage, with the name of the `option`; "gpu" if there is none.
Result<int> ParseRanksPerNode(std::string_view option, std::string_view text,
                              const std::function<Processors()>& look);

}  // namespace muster
