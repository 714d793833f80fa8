#include "bootstrap/resolve/slurm/allocation.h"

#include <climits>

#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/resolve/slurm/tasks_per_node.h"

namespace muster::resolve {
namespace {

constexpr int64_t kInteractiveStep = 0xfffffffa;
constexpr int64_t kExternStep = 0xfffffffc;

// The job that slurmstepd's own title names; "other": it runs another job or a step; empty: not visible.
std::string_view StepAbove(const Environment& environment) {
  if (!environment.live() || environment.process()->slurm_step.empty()) return {};
  const std::string_view step = environment.process()->slurm_step;
  const size_t dot = step.rfind('.');
  if (dot == std::string_view::npos) return "other";
  if (const auto job = step.substr(0, dot); job != "?" && !IsThisSlurmJob(environment, job)) return "other";
  const std::string_view kind = step.substr(dot + 1);
  return kind == "batch" || kind == "interactive" || kind == "extern" ? kind : "other";
}

std::string Kind(const Environment& environment) {
  const std::string_view above = StepAbove(environment);
  const auto step = SlurmStepId(environment);
  const int64_t id = step && *step ? **step : 0;
  const auto is_special = [&](int64_t special) {
    return id == special || id == special - (int64_t{1} << 32);
  };
  if (above == "interactive" || (above.empty() && is_special(kInteractiveStep))) return "interactive step";
  if (above == "extern" || (above.empty() && is_special(kExternStep))) return "ssh session";
  if (above == "batch" || (above.empty() && environment.Has("SLURM_PROCID"))) return "batch script";
  return "salloc shell";
}

std::optional<int> TasksOf(const Environment& environment) {
  if (const auto text = environment.Get("SLURM_TASKS_PER_NODE")) {
    const auto counts = ParseTasksPerNode(*text);
    if (counts && SumOf(*counts) <= INT_MAX) return static_cast<int>(SumOf(*counts));
  }
  const auto tasks = environment.GetCount("SLURM_NTASKS");
  return tasks ? *tasks : std::nullopt;
}

}  // namespace

std::optional<Allocation> FindAllocation(const Environment& environment) {
  const auto job = SlurmJobId(environment);
  const auto nodelist = SlurmJobNodelist(environment);
  if (job.value_or("").empty() && nodelist.value_or("").empty()) return std::nullopt;
  Allocation allocation{.manager = "slurm"};
  allocation.job_id = job.value_or("");
  allocation.kind = Kind(environment);
  allocation.nodelist = nodelist.value_or("");
  const auto nodes = environment.GetCount("SLURM_JOB_NUM_NODES");
  if (nodes) allocation.num_nodes = *nodes;
  allocation.tasks = TasksOf(environment);
  if (const auto node = environment.Get("SLURMD_NODENAME"); node && !node->empty()) allocation.node = *node;
  return allocation;
}

std::string Describe(const Allocation& allocation) {
  const std::string where = allocation.nodelist.empty() ? "" : fmt::format(" on {}", allocation.nodelist);
  std::string size = allocation.tasks ? fmt::format("{} tasks{}", *allocation.tasks, where) : where;
  if (!size.empty()) size = fmt::format(" ({})", size[0] == ' ' ? size.substr(1) : size);
  return fmt::format("{} of Slurm job {}{}", allocation.kind,
                     allocation.job_id.empty() ? "?" : allocation.job_id, size);
}

bool IsSingleTask(const Allocation& allocation, const Environment& environment) {
  if (IsHeterogeneous(environment)) return false;
  const auto per_node = environment.Get("SLURM_TASKS_PER_NODE");
  const auto tasks = environment.GetCount("SLURM_NTASKS");
  return per_node && *per_node == "1" && allocation.num_nodes.value_or(1) == 1 && tasks &&
         tasks->value_or(1) == 1;
}

}  // namespace muster::resolve
