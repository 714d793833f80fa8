// The slots of a rank: how many items it works on at a time, and the GPUs and cores of each.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "comm/base/error.h"

namespace muster::map {

struct SlotResources {
  std::vector<std::string> gpus;  // as `gpu_variable` names them; empty: all of the rank's
  std::vector<int> cores;         // ascending; empty: all of the rank's
};

struct RankResources {
  std::string gpu_variable;       // CUDA_VISIBLE_DEVICES, ...
  std::vector<std::string> gpus;  // visible to this rank
  std::vector<int> cores;         // that it may use
  std::string no_gpu;             // why there is none
};

// Of this process: CountGpus and the affinity mask.
RankResources ResourcesOfThisProcess(const std::map<std::string, std::string, std::less<>>& environment);

// Each slot's share. Ranks of one node with the same visible GPUs or cores, and enough for all of them, take
// turns by local rank. Error: kUsage: there are fewer than the slots need.
Result<std::vector<SlotResources>> ShareOut(const config::MapSlots& slots, const RankResources& resources,
                                            int local_rank, int local_ranks);

// The calling thread, and the programs that it starts, run on these only; none: as they are. Error: kSystem.
Status BindToCores(std::span<const int> cores);

}  // namespace muster::map
