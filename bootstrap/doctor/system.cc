#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "bootstrap/check/findings/units.h"
#include "bootstrap/doctor/findings.h"
#include "comm/base/error.h"

namespace muster::doctor {
namespace {

// Beside those to other ranks: files of the program, control plane, libraries.
constexpr uint64_t kFilesOfAProgram = 128;
constexpr uint64_t kConnectionsWithARank = 2;
constexpr uint64_t kFewRanks = 1024;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kShmOfARank = 16 * kMiB;
// Threads count as processes, and a rank's program starts one for each core.
constexpr uint64_t kFewProcesses = 1024;
// CUDA reserves addresses for the memory of all GPUs and of the host.
constexpr uint64_t kLittleAddressSpace = uint64_t{1} << 40;
constexpr uint64_t kSmallFile = uint64_t{1} << 30;

std::string Limit(uint64_t value) { return value == check::kUnlimited ? "unlimited" : std::to_string(value); }

void AddNote(Finding& finding, std::string_view cost, std::string_view remedy) {
  finding.health = Health::kNote;
  finding.cost += fmt::format("{}{}", finding.cost.empty() ? "" : "; ", cost);
  finding.remedy += fmt::format("{}{}", finding.remedy.empty() ? "" : "; ", remedy);
}

// `enough`: from there on the limit is no problem. `option`: of ulimit; `word`: for it, if the hard limit allows any value.
std::string Remedy(const check::Limit& limit, uint64_t enough, std::string_view option, std::string_view word,
                   const std::string& hard) {
  if (limit.hard < enough) {
    return fmt::format(
        "use a compute node, or ask the administrator for a higher hard limit ({}), as ulimit {} cannot "
        "raise it",
        hard, option);
  }
  return fmt::format("use a compute node, or ulimit {} {}", option,
                     limit.hard == check::kUnlimited ? word : "hard");
}

void AddLoginLimits(const LoginLimits& limits, Finding& finding) {
  const auto& [processes, address_space, file_size] = limits;
  finding.facts.emplace_back("processes", Limit(processes.soft));
  finding.facts.emplace_back("address_space", Limit(address_space.soft));
  finding.facts.emplace_back("file_size", Limit(file_size.soft));
  if (processes.soft < kFewProcesses) {
    finding.found += fmt::format("; processes: {}", processes.soft);
    AddNote(finding, "programs cannot start more processes and threads",
            Remedy(processes, kFewProcesses, "-u", "with a higher number", std::to_string(processes.hard)));
  }
  if (address_space.soft < kLittleAddressSpace) {
    finding.found += fmt::format("; virtual memory: {}", check::ShowBytes(address_space.soft));
    AddNote(
        finding, "CUDA and PyTorch reserve more virtual memory, and fail",
        Remedy(address_space, kLittleAddressSpace, "-v", "unlimited", check::ShowBytes(address_space.hard)));
  }
  if (file_size.soft < kSmallFile) {
    finding.found += fmt::format("; file size: {}", check::ShowBytes(file_size.soft));
    AddNote(finding, "a program that writes a larger file, or a larger part of /dev/shm, is ended by SIGXFSZ",
            Remedy(file_size, kSmallFile, "-f", "unlimited", check::ShowBytes(file_size.hard)));
  }
}

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

Finding JudgeLimits(const check::RankFacts& process, const LoginLimits& limits) {
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
    AddNote(finding, fmt::format("a rank cannot have connections with more than {} others", ranks),
            "ask for a higher hard limit of open files (of slurmd: LimitNOFILE)");
  }
  AddLoginLimits(limits, finding);
  return finding;
}

std::string ProblemOfSharedMemory() { return access("/dev/shm", W_OK | X_OK) == 0 ? "" : ErrnoText(errno); }

Finding JudgeSharedMemory(const check::NodeFacts& node, const std::string& problem) {
  Finding finding{.subject = "/dev/shm"};
  finding.facts = {{"free_bytes", std::to_string(node.shm_free)}, {"bytes", std::to_string(node.shm_total)}};
  if (node.shm_total == 0) {
    finding.health = Health::kNote;
    finding.found = "not there";
  } else {
    finding.found =
        fmt::format("{} free of {}", check::ShowBytes(node.shm_free), check::ShowBytes(node.shm_total));
    if (!problem.empty()) {
      finding.health = Health::kNote;
      finding.found += fmt::format("; this user cannot write there: {}", problem);
      finding.cost = "PyTorch's workers and NCCL fail";
      finding.remedy = "mount /dev/shm for writing, with mode 1777";
      return finding;
    }
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
