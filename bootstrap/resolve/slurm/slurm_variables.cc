#include "bootstrap/resolve/slurm/slurm_variables.h"

#include <set>

#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr int64_t kFirstSpecialStep = 0xfffffff0;
constexpr size_t kMostTasksPerNode = 65536;

std::optional<std::string_view> FirstOf(const Environment& environment, std::string_view name,
                                        std::string_view old_name) {
  const auto value = environment.Get(name);
  return value ? value : environment.Get(old_name);
}

Result<std::optional<int64_t>> StepNumber(const Environment& environment, std::string_view name) {
  const auto text = environment.Get(name);
  if (!text) return std::nullopt;
  const auto number = ParseInteger<int64_t>(*text);
  if (!number) return Fail(Code::kBadEnvironment, "{}=\"{}\" is not a step number", name, *text);
  return number;
}

std::set<std::string_view> ComponentIds(const Environment& environment) {
  std::set<std::string_view> ids;
  for (const std::string_view prefix : {"SLURM_JOB_ID_HET_GROUP_", "SLURM_JOB_ID_PACK_GROUP_"}) {
    for (auto it = environment.All().lower_bound(prefix);
         it != environment.All().end() && it->first.starts_with(prefix); ++it)
      ids.insert(it->second);
  }
  return ids;
}

bool IsDigits(std::string_view text) { return ParseInteger<uint64_t>(text).has_value(); }

}  // namespace

std::optional<std::string_view> SlurmJobId(const Environment& environment) {
  return FirstOf(environment, "SLURM_JOB_ID", "SLURM_JOBID");
}

Result<std::optional<int64_t>> SlurmStepId(const Environment& environment) {
  MUSTER_TRY(const auto step, StepNumber(environment, "SLURM_STEP_ID"));
  MUSTER_TRY(const auto old_step, StepNumber(environment, "SLURM_STEPID"));
  if (step && old_step && *step != *old_step) {
    return Fail(Code::kBadEnvironment, "SLURM_STEP_ID={} and SLURM_STEPID={} are the same thing but differ",
                *step, *old_step);
  }
  return step ? step : old_step;
}

bool IsSpecialStep(int64_t step) { return step < 0 || step >= kFirstSpecialStep; }

bool IsHeterogeneous(const Environment& environment) {
  if (!environment.Has("SLURM_HET_SIZE") && !environment.Has("SLURM_PACK_SIZE")) return false;
  const auto components = ComponentIds(environment);
  const auto job = SlurmJobId(environment);
  // sbatch called inside a heterogeneous job passes its variables on.
  return components.empty() || !job || components.contains(*job);
}

bool IsThisSlurmJob(const Environment& environment, std::string_view job) {
  if (SlurmJobId(environment) == job) return true;
  return IsHeterogeneous(environment) && ComponentIds(environment).contains(job);
}

bool NamesAnotherSlurmStep(const Environment& environment, std::string_view text) {
  const auto parts = Split(text, '.');
  if (parts.size() < 2 || !SlurmJobId(environment)) return false;
  const std::string_view job = parts[parts.size() - 2];
  const std::string_view step = parts.back();
  if (!IsDigits(job) || !IsDigits(step)) return false;
  if (!IsThisSlurmJob(environment, job)) return true;
  const auto here = SlurmStepId(environment);
  return here && *here && ParseInteger<int64_t>(step) != **here;
}

Result<std::vector<int>> ParseTaskIds(std::string_view text) {
  std::vector<int> ids;
  for (const std::string_view part : Split(text, ',')) {
    const auto id = ParseInteger<int>(part);
    if (!id || *id < 0)
      return Fail(Code::kBadEnvironment, "SLURM_GTIDS=\"{}\": \"{}\" is not a rank", text, part);
    if (!ids.empty() && *id <= ids.back()) {
      return Fail(Code::kBadEnvironment, "SLURM_GTIDS=\"{}\" is not in ascending order", text);
    }
    if (ids.size() == kMostTasksPerNode) {
      return Fail(Code::kBadEnvironment, "SLURM_GTIDS lists more than {} ranks", kMostTasksPerNode);
    }
    ids.push_back(*id);
  }
  return ids;
}

std::optional<std::string_view> SlurmJobNodelist(const Environment& environment) {
  const auto nodelist = FirstOf(environment, "SLURM_JOB_NODELIST", "SLURM_NODELIST");
  return nodelist && nodelist->empty() ? std::nullopt : nodelist;
}

}  // namespace muster::resolve
