#include "bootstrap/doctor/system.h"

#include <fmt/core.h>

#include <algorithm>

#include "bootstrap/check/findings/units.h"

namespace muster::doctor {
namespace {

// Beside those to other ranks: files of the program, control plane, libraries.
constexpr uint64_t kFilesOfAProgram = 128;
constexpr uint64_t kConnectionsWithARank = 2;
constexpr uint64_t kFewRanks = 1024;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kShmOfARank = 16 * kMiB;

std::string Limit(uint64_t value) { return value == check::kUnlimited ? "unlimited" : std::to_string(value); }

}  // namespace

Finding JudgeSystem(const check::NodeFacts& node, const check::RankFacts& process,
                    const std::string& architecture) {
  Finding finding{.subject = "system"};
  finding.found = fmt::format("Linux {}, glibc {}, {}, {} processors", node.kernel, node.libc, architecture,
                              process.cpus);
  finding.facts = {{"muster", node.muster},
                   {"kernel", node.kernel},
                   {"glibc", node.libc},
                   {"architecture", architecture},
                   {"processors", std::to_string(process.cpus)}};
  return finding;
}

Finding JudgeLimits(const check::RankFacts& process) {
  Finding finding{.subject = "limits"};
  const std::string most = Limit(process.open_files_most);
  finding.found = fmt::format("open files: {}", Limit(process.open_files));
  if (process.open_files != process.open_files_most)
    finding.found += fmt::format(", raised to {} if needed", most);
  finding.facts = {{"open_files", Limit(process.open_files)},
                   {"open_files_most", most},
                   {"locked_memory", Limit(process.locked_memory)}};
  const uint64_t room = std::max(process.open_files_most, kFilesOfAProgram) - kFilesOfAProgram;
  const uint64_t ranks = room / kConnectionsWithARank;
  if (process.open_files_most != check::kUnlimited && ranks < kFewRanks) {
    finding.health = Health::kNote;
    finding.cost = fmt::format("a rank cannot have connections with more than {} others", ranks);
    finding.remedy = "ask for a higher hard limit of open files (of slurmd: LimitNOFILE)";
  }
  return finding;
}

Finding JudgeSharedMemory(const check::NodeFacts& node) {
  Finding finding{.subject = "/dev/shm"};
  finding.facts = {{"free_bytes", std::to_string(node.shm_free)}, {"bytes", std::to_string(node.shm_total)}};
  if (node.shm_total == 0) {
    finding.health = Health::kNote;
    finding.found = "not there";
  } else {
    finding.found =
        fmt::format("{} free of {}", check::ShowBytes(node.shm_free), check::ShowBytes(node.shm_total));
    const uint64_t ranks = node.shm_free / kShmOfARank;
    if (ranks >= std::max<uint64_t>(node.gpus, 4)) return finding;
    finding.health = Health::kNote;
  }
  finding.cost =
      "too little for the ranks of a node: PyTorch's workers and NCCL fail with a bus error or ENOSPC";
  finding.remedy =
      "remove what is left in /dev/shm; in a container, start it with --shm-size=8g or --ipc=host";
  return finding;
}

}  // namespace muster::doctor
