#include "bootstrap/resolve/slurm/slurm_step.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "bootstrap/resolve/slurm/hostlist.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/resolve/slurm/tasks_per_node.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

using Names = std::unordered_set<std::string>;

Result<std::vector<std::string>> Expand(std::string_view variable, std::string_view text) {
  auto names = ExpandHostlist(text);
  if (names) return names;
  return Fail(Code::kBadEnvironment, "{}: {}", variable, names.error().message);
}

// A heterogeneous job's SLURM_JOB_NODELIST may be one component's; together the components are the job.
Result<Names> NodesOfJob(const Environment& environment) {
  Names names;
  for (const auto& [name, value] : environment.All()) {
    const bool whole =
        name == "SLURM_JOB_NODELIST" || (name == "SLURM_NODELIST" && !environment.Has("SLURM_JOB_NODELIST"));
    if (!whole && name.compare(0, 29, "SLURM_JOB_NODELIST_HET_GROUP_") != 0) continue;
    MUSTER_TRY(auto list, Expand(name, value));
    names.insert(list.begin(), list.end());
  }
  return names;
}

Result<std::optional<std::string>> WhyNotTheseNodes(const Environment& environment) {
  const std::string_view text = *environment.Get("SLURM_STEP_NODELIST");
  MUSTER_TRY(const auto step, Expand("SLURM_STEP_NODELIST", text));
  const auto node = environment.Get("SLURMD_NODENAME");
  if (node && !node->empty() && std::find(step.begin(), step.end(), *node) == step.end()) {
    return fmt::format("SLURMD_NODENAME={} is not in SLURM_STEP_NODELIST={}", *node, text);
  }
  MUSTER_TRY(const Names job, NodesOfJob(environment));
  // A slurmstepd of this very step is above (WhyNotBelow): the list is that of a shell of another job with `srun --jobid`, or
  // older than the job's growth.
  const bool is_proven = environment.live() && !environment.process()->slurm_step.empty();
  if (job.empty() || is_proven) return std::nullopt;
  for (const std::string& name : step) {
    if (job.count(name) == 0) {
      return fmt::format("{} of SLURM_STEP_NODELIST={} is not a node of this job (SLURM_JOB_NODELIST={})",
                         name, text, SlurmJobNodelist(environment).value_or(""));
    }
  }
  return std::nullopt;
}

Result<std::optional<std::string>> WhyNotTheseCounts(const Environment& environment, const RankTuple& tuple) {
  const auto text = environment.Get("SLURM_STEP_TASKS_PER_NODE");
  if (!text) return std::nullopt;
  const auto counts = ParseTasksPerNode(*text);
  if (!counts) return Fail(Code::kBadEnvironment, "SLURM_STEP_TASKS_PER_NODE: {}", counts.error().message);
  if (SumOf(*counts) != tuple.world_size) {
    return fmt::format("SLURM_STEP_TASKS_PER_NODE={} is not SLURM_STEP_NUM_TASKS={}", *text,
                       tuple.world_size);
  }
  const int here = tuple.local_world_size.value_or(-1);
  if (here >= 0 && std::find(counts->begin(), counts->end(), here) == counts->end()) {
    return fmt::format("SLURM_GTIDS={} are {} tasks, but SLURM_STEP_TASKS_PER_NODE={}",
                       *environment.Get("SLURM_GTIDS"), here, *text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyNotBelow(const Environment& environment) {
  if (!environment.live() || environment.process()->slurm_step.empty()) return std::nullopt;
  const std::string& above = environment.process()->slurm_step;
  const auto parts = Split(above, '.');
  const auto step = SlurmStepId(environment);
  const bool this_step = parts.size() == 2 && step && *step && ParseInteger<int64_t>(parts[1]) == **step;
  // In a heterogeneous job slurmstepd may show its component's id.
  const bool this_job = IsThisSlurmJob(environment, parts[0]) || IsHeterogeneous(environment);
  if (this_step && this_job) return std::nullopt;
  return fmt::format("the slurmstepd above this process runs {}, not {}.{}", above,
                     SlurmJobId(environment).value_or("?"), environment.Get("SLURM_STEP_ID").value_or("?"));
}

Result<std::optional<std::string>> WhyNotThisStep(const Environment& environment, const RankTuple& tuple) {
  MUSTER_TRY(auto nodes, WhyNotTheseNodes(environment));
  if (nodes) return nodes;
  return WhyNotTheseCounts(environment, tuple);
}

Status CheckTaskIds(const Environment& environment, const RankTuple& tuple) {
  const auto text = environment.Get("SLURM_GTIDS");
  if (!text || text->empty()) return {};
  MUSTER_TRY(const auto task_ids, ParseTaskIds(*text));
  if (task_ids.back() >= tuple.world_size) {
    return Fail(Code::kBadEnvironment, "SLURM_GTIDS has rank {}, outside SLURM_STEP_NUM_TASKS={}",
                task_ids.back(), tuple.world_size);
  }
  const size_t local = static_cast<size_t>(tuple.local_rank.value_or(0));
  if (local >= task_ids.size()) {
    return Fail(Code::kBadEnvironment, "SLURM_LOCALID={} is outside SLURM_GTIDS, which lists {} ranks", local,
                task_ids.size());
  }
  if (task_ids[local] != tuple.rank) {
    return Fail(Code::kBadEnvironment, "SLURM_PROCID={} is not entry {} of SLURM_GTIDS, which is {}",
                tuple.rank, local, task_ids[local]);
  }
  return {};
}

}  // namespace muster::resolve
