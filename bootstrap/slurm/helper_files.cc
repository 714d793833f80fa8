#include "bootstrap/slurm/helper_files.h"

#include <fmt/core.h>
#include <limits.h>
#include <unistd.h>

#include <array>

#include "bootstrap/process/exec_child.h"

namespace muster::slurm {

std::vector<std::string> VariablesForHelper(const Environment& environment) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment.All()) {
    if (name != "MUSTER_SECRET") variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

std::vector<std::string> HelperFiles(const std::optional<std::string>& asked,
                                     const std::vector<std::string>& variables) {
  constexpr std::string_view kHelper = "muster-slurm";
  if (asked) return process::AbsoluteCandidates(*asked, variables);
  std::vector<std::string> candidates;
  std::array<char, PATH_MAX> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  const std::string_view path(self.data(), length > 0 ? static_cast<size_t>(length) : 0);
  if (const size_t slash = path.rfind('/'); slash != std::string_view::npos) {
    candidates.push_back(fmt::format("{}/{}", path.substr(0, slash), kHelper));
  }
  for (std::string& candidate : process::AbsoluteCandidates(kHelper, variables))
    candidates.push_back(std::move(candidate));
  return candidates;
}

}  // namespace muster::slurm
