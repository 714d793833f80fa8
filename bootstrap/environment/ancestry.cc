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

}  // namespace

std::optional<std::string> ReadAll(const std::string& path, size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  std::string bytes;
  char chunk[16384];
  while (bytes.size() <= limit) {
    const ssize_t got = TEMP_FAILURE_RETRY(::read(file.get(), chunk, sizeof chunk));
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(got));
  }
  errno = EFBIG;
  return std::nullopt;
}

std::vector<pid_t> Ancestors(pid_t pid) {
  std::vector<pid_t> ancestors;
  while (ancestors.size() < kMostAncestors) {
    const auto parent = ParentOf(pid);
    if (!parent || *parent <= 0) break;
    ancestors.push_back(*parent);
    pid = *parent;
  }
  return ancestors;
}

std::string SlurmStepOfCommandLine(std::string_view command_line) {
  constexpr std::string_view kTitle = "slurmstepd: [";
  if (command_line.substr(0, kTitle.size()) != kTitle) return {};
  command_line.remove_prefix(kTitle.size());
  const size_t end = command_line.find(']');
  return end == std::string_view::npos ? std::string() : std::string(command_line.substr(0, end));
}

std::string NearestSlurmStep(const std::vector<pid_t>& ancestors) {
  for (const pid_t pid : ancestors) {
    const auto command_line = ReadAll(fmt::format("/proc/{}/cmdline", pid), kLongestEnvironment);
    if (!command_line) break;
    if (std::string step = SlurmStepOfCommandLine(*command_line); !step.empty()) return step;
  }
  return {};
}

std::optional<std::string> StartEnvironment(pid_t pid) {
  return ReadAll(fmt::format("/proc/{}/environ", pid), kLongestEnvironment);
}

}  // namespace muster
