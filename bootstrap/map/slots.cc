#include "bootstrap/map/slots.h"

#include <utility>

#include "bootstrap/resources/gpu_count.h"
#include "comm/base/parse.h"
#include "comm/system/cpus.h"

namespace muster::map {
namespace {

// As the list of `variable` names them; without one they are counted.
std::vector<std::string> NamesOf(const GpuCount& count,
                                 const std::map<std::string, std::string, std::less<>>& environment) {
  std::vector<std::string> names;
  if (const auto list = environment.find(count.variable); list != environment.end()) {
    for (const std::string_view name : Split(list->second, ',')) names.emplace_back(Trim(name));
  } else {
    for (int i = 0; i < count.gpus; ++i) names.push_back(std::to_string(i));
  }
  names.resize(static_cast<size_t>(count.gpus));
  return names;
}

// The start of this rank's share of its devices.
Result<size_t> ShareBegins(const config::MapSlots& slots, int each, size_t seen, int local_rank,
                           int local_ranks, std::string_view what) {
  const size_t needed = static_cast<size_t>(slots.count) * static_cast<size_t>(each);
  if (needed > seen) {
    return Fail(Code::kUsage, "{} slots with {} {} each need {}; this rank has {}", slots.count, each, what,
                needed, seen);
  }
  const bool enough_for_all = needed * static_cast<size_t>(local_ranks) <= seen;
  return enough_for_all ? needed * static_cast<size_t>(local_rank) : 0;
}

}  // namespace

RankResources ResourcesOfThisProcess(const std::map<std::string, std::string, std::less<>>& environment) {
  const GpuCount count = CountGpus(environment);
  return {count.variable, NamesOf(count, environment), CpusOf().value_or(std::vector<int>()), count.reason};
}

Result<std::vector<SlotResources>> ShareOut(const config::MapSlots& slots, const RankResources& resources,
                                            int local_rank, int local_ranks) {
  std::vector<SlotResources> shares(static_cast<size_t>(slots.count));
  auto gpu = ShareBegins(slots, slots.gpus, resources.gpus.size(), local_rank, local_ranks, "GPUs");
  if (!gpu) {
    return WithHint(Fail(std::move(gpu).error()), resources.gpus.empty()
                                                      ? resources.no_gpu
                                                      : "change map.slots, or --gpus-per-task of srun");
  }
  auto core = ShareBegins(slots, slots.cores, resources.cores.size(), local_rank, local_ranks, "cores");
  if (!core) {
    return WithHint(Fail(std::move(core).error()), "change map.slots, or --cpus-per-task of srun");
  }
  for (SlotResources& share : shares) {
    for (int i = 0; i < slots.gpus; ++i) share.gpus.push_back(resources.gpus[(*gpu)++]);
    for (int i = 0; i < slots.cores; ++i) share.cores.push_back(resources.cores[(*core)++]);
  }
  return shares;
}

Status BindToCores(std::span<const int> cores) {
  if (cores.empty()) return {};
  const Status bound = RunOn(cores);
  if (bound) return {};
  return Fail(Code::kSystem, "cannot bind a slot to its cores: {}", bound.error().message);
}

}  // namespace muster::map
