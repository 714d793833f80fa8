#include "comm/nccl/devices/device_choice.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "comm/base/lists.h"

namespace muster::nccl {
namespace {

std::string DescribeVisible(const DeviceQuestion& question) {
  std::string gpus = Counted(question.visible, "GPU");
  if (question.visible_list.empty()) return gpus;
  return fmt::format("{} (CUDA_VISIBLE_DEVICES={})", gpus, question.visible_list);
}

}  // namespace

Result<DeviceChoice> ChooseDevice(const DeviceQuestion& question) {
  if (question.visible < 1) {
    return Fail(Code::kInternal, "a device cannot be chosen from {}", DescribeVisible(question));
  }
  if (question.visible == 1) {
    // Slurm's device cgroup of a task hides the GPUs of other tasks, and with them the direct path to them.
    return DeviceChoice{0, question.local_size > 1 && !question.share_device};
  }
  if (question.visible >= question.local_size || question.share_device) {
    return DeviceChoice{question.local_rank % question.visible, false};
  }
  return WithHint(
      Fail(Code::kConfiguration,
           "{} ranks on this node see {}: too few for one each, and more than the one that a "
           "launcher would bind each rank to",
           question.local_size, DescribeVisible(question)),
      "start as many ranks on a node as it has GPUs, or bind one GPU to each: srun --gpus-per-task=1, srun "
      "--gpu-bind=single:1, or CUDA_VISIBLE_DEVICES of each rank; nccl.share_device: true lets ranks share "
      "them");
}

Status CheckDistinctDevices(const Roster& roster, const std::vector<std::string>& uuid_of_rank,
                            bool share_device) {
  if (uuid_of_rank.size() != static_cast<size_t>(roster.size())) {
    return Fail(Code::kInternal, "there are {} GPU UUIDs for {} ranks", uuid_of_rank.size(), roster.size());
  }
  if (share_device) return {};
  std::map<std::pair<int, std::string_view>, int> first_with;
  for (int rank = 0; rank < roster.size(); ++rank) {
    const std::string& uuid = uuid_of_rank[static_cast<size_t>(rank)];
    const auto [first, fresh] = first_with.try_emplace({roster.NodeOf(rank), uuid}, rank);
    if (fresh) continue;
    return WithHint(Fail(Code::kDisagreement, "rank {} and {} use the same GPU, {}", first->second,
                         DescribeRank(roster, rank), uuid),
                    "give each rank its own (srun --gpus-per-task=1, CUDA_VISIBLE_DEVICES), or set "
                    "nccl.share_device: true to share it");
  }
  return {};
}

}  // namespace muster::nccl
