#include "bootstrap/process/exec_path.h"

#include "comm/base/parse.h"

namespace muster::process {
namespace {

std::string_view PathOf(const std::vector<std::string>& environment) {
  constexpr std::string_view kPrefix = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPrefix)) return std::string_view(variable).substr(kPrefix.size());
  }
  return "/usr/local/bin:/bin:/usr/bin";
}

}  // namespace

std::vector<std::string> ExecCandidates(std::string_view name, const std::vector<std::string>& environment) {
  if (name.empty()) return {};
  if (name.find('/') != std::string_view::npos) return {std::string(name)};
  std::vector<std::string> candidates;
  for (const std::string_view directory : Split(PathOf(environment), ':')) {
    std::string candidate(directory.empty() ? "." : directory);
    candidate += '/';
    candidate += name;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace muster::process
