// How many ranks a node is to have: "8", "gpu", "cpu" or "auto", as torchrun's --nproc-per-node reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster {

// Of this node, as this process may use it.
struct Processors {
  int gpus = 0;
  int cpus = 1;
};

// GPUs: those in `visible_devices` (CUDA_VISIBLE_DEVICES) where it is set, else all of /dev. CUDA is not
// loaded.
Processors ProcessorsOfThisNode(const std::optional<std::string>& visible_devices);

// auto: the GPUs, where there is one, else the CPUs. Error: kUsage; "gpu" where there is none.
Result<int> ParseRanksPerNode(std::string_view text, const Processors& processors);

}  // namespace muster
