#include "bootstrap/environment/outer_variables.h"

#include <optional>
#include <string>

namespace muster {
namespace {

std::optional<std::string_view> ValueOf(const Environment::Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

bool IsAsRecorded(const Environment::Variables& variables, std::string_view name) {
  return ValueOf(variables, std::string(kOuterPrefix).append(name)) == ValueOf(variables, name);
}

}  // namespace

bool SlurmIsRewritten(const Environment::Variables& variables) {
  if (!ValueOf(variables, "MUSTER_OUTER_SLURM_JOB_ID") || ValueOf(variables, "SLURM_TASK_PID")) return false;
  return IsAsRecorded(variables, "SLURM_JOB_ID") && IsAsRecorded(variables, "SLURM_STEP_ID");
}

}  // namespace muster
