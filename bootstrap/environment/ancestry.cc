#include "bootstrap/environment/ancestry.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "comm/base/unique_fd.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

constexpr size_t kMostAncestors = 64;
constexpr size_t kLongestEnvironment = 16 << 20;

// From Slurm 26.05 on the job's directory may be named by another id: "/sEKNKTV3WPV500/step_batch". The number of a step
// proves nothing without the job, but a special step has no tasks in any job.
std::string SpecialStepOfCgroup(std::string_view cgroup) {
  for (const std::string_view kind : {"batch", "interactive", "extern"}) {
    const std::string directory = fmt::format("/step_{}", kind);
    const size_t at = cgroup.find(directory);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = cgroup.substr(at + directory.size());
    if (rest.empty() || rest.front() == '/' || rest.front() == '\n') return fmt::format("?.{}", kind);
  }
  return {};
}

}  // namespace

std::optional<std::string> ReadAll(const std::string& path, size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  std::string bytes;
  char chunk[4096];
  while (bytes.size() <= limit) {
    const ssize_t got = TEMP_FAILURE_RETRY(::read(file.get(), chunk, sizeof chunk));
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(got));
  }
  errno = EFBIG;
  return std::nullopt;
}

std::optional<pid_t> Ancestry::At(size_t distance) {
  while (known_.size() <= distance && known_.size() < kMostAncestors) {
    const auto parent = known_.empty() ? ::getppid() : ParentOf(known_.back()).value_or(0);
    if (parent <= 0) break;
    known_.push_back(parent);
  }
  return distance < known_.size() ? std::optional(known_[distance]) : std::nullopt;
}

bool Ancestry::Has(pid_t pid) {
  for (size_t distance = 0;; ++distance) {
    const auto ancestor = At(distance);
    if (!ancestor || *ancestor == pid) return ancestor.has_value();
  }
}

std::string SlurmStepOfCommandLine(std::string_view command_line) {
  constexpr std::string_view kTitle = "slurmstepd: [";
  if (command_line.substr(0, kTitle.size()) != kTitle) return {};
  command_line.remove_prefix(kTitle.size());
  if (command_line.find(']') == std::string_view::npos) return {};
  return std::string(command_line.substr(0, command_line.find_first_of("+ ]")));
}

std::string SlurmStepOfCgroup(std::string_view cgroup) {
  constexpr std::string_view kJob = "/job_";
  constexpr std::string_view kStep = "/step_";
  const size_t job = cgroup.find(kJob);
  if (job == std::string_view::npos) return SpecialStepOfCgroup(cgroup);
  const size_t step = cgroup.find(kStep, job);
  if (step == std::string_view::npos) return {};
  const std::string_view id = cgroup.substr(job + kJob.size(), step - job - kJob.size());
  if (id.empty() || id.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const std::string_view rest = cgroup.substr(step + kStep.size());
  return fmt::format("{}.{}", id, rest.substr(0, rest.find_first_of("+/\n")));
}

std::string NearestSlurmStep(Ancestry& ancestry) {
  for (size_t distance = 0;; ++distance) {
    const auto pid = ancestry.At(distance);
    const auto command_line =
        pid ? ReadAll(fmt::format("/proc/{}/cmdline", *pid), kLongestEnvironment) : std::nullopt;
    if (!command_line) return {};
    if (std::string step = SlurmStepOfCommandLine(*command_line); !step.empty()) return step;
  }
}

std::optional<std::string> StartEnvironment(pid_t pid) {
  return ReadAll(fmt::format("/proc/{}/environ", pid), kLongestEnvironment);
}

}  // namespace muster
