// A task of an srun step. Step-scoped variables only: the job-scoped ones are in batch scripts, too.
//   SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_LOCALID SLURM_NODEID SLURM_STEP_NUM_NODES SLURMD_NODENAME
//   SLURM_GTIDS          the ranks on this node: their number is the local world size, never tasks / nodes
//   SLURM_STEP_NODELIST  must be there: a batch script has SLURM_PROCID=0 but no step
//   SLURM_JOB_ID SLURM_STEP_ID SLURM_RESTART_COUNT (only when > 0, inherited from the batch script)
// Not read: SLURM_NTASKS (the job's under --preserve-env), SLURM_NODELIST (the job's).
#include <algorithm>
#include <array>

#include "bootstrap/environment/outer_variables.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/allocation.h"
#include "bootstrap/resolve/slurm/placement.h"
#include "bootstrap/resolve/slurm/slurm_step.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/resolve/slurm/tasks_per_node.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "SLURM_PROCID",
    .world_size = "SLURM_STEP_NUM_TASKS",
    .local_rank = "SLURM_LOCALID",
    .node_rank = "SLURM_NODEID",
    .num_nodes = "SLURM_STEP_NUM_NODES",
};
// With `launcher: slurm` if the step's own variables were stripped.
constexpr TupleVariables kForcedVariables{
    .rank = "SLURM_PROCID",
    .world_size = "SLURM_NTASKS",
    .local_rank = "SLURM_LOCALID",
    .node_rank = "SLURM_NODEID",
    .num_nodes = "SLURM_NNODES",
};
constexpr std::array<std::string_view, 4> kStepVariables{"SLURM_STEP_ID", "SLURM_STEP_NODELIST",
                                                         "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES"};
constexpr std::array<std::string_view, 3> kTaskVariables{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"};

bool IsSet(const Environment& environment, std::string_view name) {
  return environment.Has(name) || (name == "SLURM_STEP_ID" && environment.Has("SLURM_STEPID"));
}

template <size_t N>
std::vector<std::string_view> Missing(const Environment& environment,
                                      const std::array<std::string_view, N>& names) {
  std::vector<std::string_view> missing;
  for (const std::string_view name : names) {
    if (!IsSet(environment, name)) missing.push_back(name);
  }
  return missing;
}

// The batch script's own task: rank 0 of one, in any allocation.
bool LooksLikeBatchScript(const Environment& environment) {
  for (const std::string_view name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS"}) {
    if (environment.Get(name).value_or("0") != "0") return false;
  }
  return true;
}

Incomplete Stripped(const Environment& environment) {
  std::string names;
  const auto add = [&](std::string_view name) { names += (names.empty() ? "" : ", ") + std::string(name); };
  for (const std::string_view name : Missing(environment, kTaskVariables)) add(name);
  for (const std::string_view name : Missing(environment, kStepVariables)) add(name);
  if (!SlurmJobId(environment)) add("SLURM_JOB_ID");
  return {
      {Code::kBadEnvironment,
       fmt::format(
           "this is probably a task of a Slurm step, with a part of its variables removed: missing {}",
           names),
       "let the container, wrapper or ssh pass SLURM_* on, or force what is left with MUSTER_LAUNCHER=slurm"},
      "SLURM_*"};
}

// The supervisor that wrote them is inside the task, so they are never evidence of their own.
Incomplete Rewritten(const Environment& environment) {
  const auto outer = environment.Get("MUSTER_OUTER_SLURM_PROCID");
  return {
      {Code::kBadEnvironment,
       fmt::format("SLURM_PROCID={} and the like are those of a muster run that starts several ranks on a "
                   "node; Slurm's own rank: {}",
                   environment.Get("SLURM_PROCID").value_or(""), outer.value_or("none")),
       "start this process with srun, or within the program of that muster run"},
      "SLURM_*"};
}

// The place in an allocation of a process that is not a task; nullopt: it may be one.
std::optional<Probed> NotATask(const Environment& environment) {
  const auto step = SlurmStepId(environment);
  if (!step) return Malformed{step.error()};
  if (*step && IsSpecialStep(**step)) {
    return Absent{fmt::format("SLURM_STEP_ID={} is a special step, not one of tasks", **step)};
  }
  const auto no_step = Missing(environment, kStepVariables);
  if (no_step.size() < kStepVariables.size()) return std::nullopt;
  const bool no_job = SlurmJobId(environment).value_or("").empty();
  if (no_job && !environment.Has("SLURM_PROCID")) return Absent{"no SLURM_JOB_ID"};
  if (!environment.Has("SLURM_PROCID")) return Absent{"no SLURM_PROCID: an allocation without a step"};
  if (LooksLikeBatchScript(environment)) return Absent{"no SLURM_STEP_ID: a batch script is not a task"};
  return std::nullopt;
}

Status ReadJob(const Environment& environment, Candidate& candidate) {
  JobIdentity& job = candidate.tuple.job;
  job.id = SlurmJobId(environment).value_or("");
  if (job.id.empty()) return Fail(Code::kBadEnvironment, "SLURM_JOB_ID is set but empty");
  MUSTER_TRY(const auto step, SlurmStepId(environment));
  if (step) job.step = std::to_string(*step);
  MUSTER_TRY(const auto restart, environment.GetCount("SLURM_RESTART_COUNT"));
  job.restart = restart.value_or(0);
  job.key = JobKey("slurm", job);
  candidate.sources.push_back({"job.id", environment.Has("SLURM_JOB_ID") ? "SLURM_JOB_ID" : "SLURM_JOBID"});
  if (step) {
    candidate.sources.push_back(
        {"job.step", environment.Has("SLURM_STEP_ID") ? "SLURM_STEP_ID" : "SLURM_STEPID"});
  }
  if (restart) candidate.sources.push_back({"job.restart", "SLURM_RESTART_COUNT"});
  return {};
}

// The node of this task in the step's list. In every layout SLURM_NODEID counts along that list; of `srun A : B` the list
// may be one component's.
std::optional<size_t> NodeByNumber(const Environment& environment, const Placement& step,
                                   const RankTuple& tuple) {
  if (step.nodes.size() == 1) return 0;
  if (!step.node_of_rank.empty())
    return static_cast<size_t>(step.node_of_rank[static_cast<size_t>(tuple.rank)]);
  const bool is_whole =
      !IsHeterogeneous(environment) && tuple.num_nodes == static_cast<int>(step.nodes.size());
  if (!is_whole || !tuple.node_rank) return std::nullopt;
  return static_cast<size_t>(*tuple.node_rank);
}

// Without SLURMD_NODENAME, as in a container: by the host's name, else by the layout or the node's number.
// With the host's name alone, no process might be on the node of rank 0, and all would wait.
Status FindNode(const Environment& environment, Candidate& candidate) {
  RankTuple& tuple = candidate.tuple;
  if (tuple.node) return {};
  MUSTER_TRY(const Placement step, PlacementOfSlurmStep(environment));
  const std::string host = environment.host_name().value_or("");
  const auto is_host = [&](const std::string& name) {
    return name == host || name == std::string_view(host).substr(0, host.find('.'));
  };
  const auto named = std::ranges::find_if(step.nodes, is_host, &Placement::Node::name);
  if (named != step.nodes.end()) {
    tuple.node = named->name;
    candidate.sources.push_back({"node", "SLURM_STEP_NODELIST (host name)"});
  } else if (const auto node = NodeByNumber(environment, step, tuple)) {
    tuple.node = step.nodes[*node].name;
    candidate.sources.push_back({"node", "SLURM_STEP_NODELIST (SLURM_NODEID)"});
  } else if (environment.live()) {
    return WithHint(Fail(Code::kBadEnvironment,
                         "SLURMD_NODENAME is not set, and neither the host name, {}, nor the layout gives "
                         "this node's name in SLURM_STEP_NODELIST={}",
                         host, *environment.Get("SLURM_STEP_NODELIST")),
                    "let the container or wrapper pass SLURMD_NODENAME on");
  }
  return {};
}

// A batch script may have inherited the variables of another step's only task. Neither slurmstepd nor its control group is
// visible (hidepid, a container). srun sets the variables of the job to those of the step; a new job overwrites them, but
// SLURM_NTASKS only if a number of tasks was requested.
std::optional<std::string> WhyMaybeABatchScript(const Environment& environment, const RankTuple& tuple) {
  constexpr std::pair<std::string_view, std::string_view> kAlike[] = {
      {"SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"},
      {"SLURM_NNODES", "SLURM_STEP_NUM_NODES"},
      {"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"}};
  if (!environment.live() || !environment.process()->slurm_step.empty() || tuple.world_size != 1)
    return std::nullopt;
  for (const auto& [of_job, of_step] : kAlike) {
    const std::string_view job_text = environment.Get(of_job).value_or("");
    const std::string_view step_text = environment.Get(of_step).value_or("");
    const auto job = ParseTasksPerNode(job_text);
    const auto step = ParseTasksPerNode(step_text);
    if (job && step && *job != *step)
      return fmt::format("{}={} is not {}={}", of_job, job_text, of_step, step_text);
  }
  return std::nullopt;
}

Result<Candidate> Read(const Environment& environment, const TupleVariables& variables) {
  MUSTER_TRY(Candidate candidate, ReadTuple("slurm", environment, variables));
  RankTuple& tuple = candidate.tuple;
  if (const auto text = environment.Get("SLURM_GTIDS"); text && !text->empty()) {
    MUSTER_TRY(const auto task_ids, ParseTaskIds(*text));
    tuple.local_world_size = static_cast<int>(task_ids.size());
    candidate.sources.push_back({"local_world_size", "SLURM_GTIDS (count)"});
  }
  ReadText(environment, "SLURMD_NODENAME", "node", tuple.node, candidate);
  MUSTER_CHECK(ReadJob(environment, candidate));
  return candidate;
}

void WarnOfJobSize(const Environment& environment, Candidate& candidate) {
  const auto tasks = environment.GetCount("SLURM_NTASKS");
  if (!tasks || !*tasks || **tasks == candidate.tuple.world_size) return;
  candidate.warnings.push_back(
      fmt::format("SLURM_NTASKS={} is not this step's size, SLURM_STEP_NUM_TASKS={}, which is used (srun "
                  "--preserve-env?)",
                  **tasks, candidate.tuple.world_size));
}

// The step may be forced out of SLURM_PROCID and SLURM_NTASKS if it was stripped. But a batch script has
// these two as well and must not become rank 0 of N, so slurmstepd's own title must name the step.
bool CanForce(const Environment& environment) {
  if (!environment.Has("SLURM_PROCID") || !environment.Has("SLURM_NTASKS")) return false;
  const auto step = SlurmStepId(environment);
  if (!step || (*step && IsSpecialStep(**step))) return false;
  if (!LooksLikeBatchScript(environment)) return true;
  if (!environment.live()) return false;
  const std::string& above = environment.process()->slurm_step;
  return ParseInteger<int64_t>(std::string_view(above).substr(above.rfind('.') + 1)).has_value();
}

Result<Candidate> ReadForced(const Environment& environment) {
  MUSTER_TRY(Candidate candidate, Read(environment, kForcedVariables));
  MUSTER_CHECK(CheckTaskIds(environment, candidate.tuple));
  candidate.warnings.push_back(
      "the step's own variables are missing: SLURM_NTASKS is taken for the world size");
  return candidate;
}

Absent LeftOver(std::string_view why) {
  return {fmt::format("the step variables are left over from another step: {}", why), true};
}

Probed ProbeSlurm(const Environment& environment, const ProbeContext& context) {
  if (SlurmIsRewritten(environment.All())) return Rewritten(environment);
  auto not_a_task = NotATask(environment);
  const bool stripped = !Missing(environment, kTaskVariables).empty() ||
                        !Missing(environment, kStepVariables).empty() || !SlurmJobId(environment);
  if (context.forced && stripped && CanForce(environment)) return ToProbed(ReadForced(environment));
  if (not_a_task) return *std::move(not_a_task);
  if (stripped) return Stripped(environment);
  // First: mpiexec mixes the variables of two steps, which need not fit together.
  if (const auto other = WhyNotBelow(environment)) return LeftOver(*other);
  Result<Candidate> candidate = Read(environment, kVariables);
  if (!candidate) return Malformed{std::move(candidate).error()};
  const auto why = WhyNotThisStep(environment, candidate->tuple);
  if (!why) return Malformed{why.error()};
  if (*why) return LeftOver(**why);
  const auto batch_script = WhyMaybeABatchScript(environment, candidate->tuple);
  if (!context.forced && batch_script) {
    return Absent{fmt::format("{}, and no slurmstepd is visible above this process: the step variables may "
                              "be left over from another step",
                              *batch_script),
                  true};
  }
  // Hydra mixes the variables of two tasks: no harm if its own tuple is there.
  if (auto status = CheckTaskIds(environment, candidate->tuple); !status) {
    return Incomplete{std::move(status).error(), "SLURM_PROCID"};
  }
  if (auto status = FindNode(environment, *candidate); !status)
    return Incomplete{std::move(status).error(), "SLURM_PROCID"};
  WarnOfJobSize(environment, *candidate);
  return *std::move(candidate);
}

constexpr std::string_view kOthers[] = {"SLURM_GTIDS",   "SLURM_STEP_ID",       "SLURM_STEP_NODELIST",
                                        "SLURM_JOB_ID",  "SLURM_RESTART_COUNT", "SLURMD_NODENAME",
                                        "SLURM_TASK_PID"};

constexpr OuterVariable kPerRank[] = {
    {"SLURM_PROCID", Becomes::kRank, "Slurm: rank of the task"},
    {"SLURM_LOCALID", Becomes::kLocalRank, "Slurm: local rank of the task"},
    {"SLURM_GTIDS", Becomes::kRanksOfNode, "Slurm: ranks on this node"},
    {"SLURM_NTASKS", Becomes::kWorldSize, "Slurm: number of tasks"},
    {"SLURM_NPROCS", Becomes::kWorldSize, "Slurm: number of tasks"},
    {"SLURM_NTASKS_PER_NODE", Becomes::kLocalSize, "Slurm: tasks on a node"},
    {"SLURM_TASKS_PER_NODE", Becomes::kRanksByNode, "Slurm: tasks on each node"},
    {"SLURM_STEP_NUM_TASKS", Becomes::kWorldSize, "Slurm: number of tasks"},
    {"SLURM_STEP_TASKS_PER_NODE", Becomes::kRanksByNode, "Slurm: tasks on each node"},
    {"SLURM_NODEID", Becomes::kNodeRank, "Slurm: node of the task"},
    {"SLURM_NNODES", Becomes::kNumNodes, "Slurm: number of nodes"},
    {"SLURM_STEP_NUM_NODES", Becomes::kNumNodes, "Slurm: number of nodes"},
    {"SLURM_STEP_NODELIST", Becomes::kNodeNames, "Slurm: the step's nodes"},
    {"SLURM_CPUS_PER_TASK", Becomes::kShareOfCpus, "Slurm: CPUs of the task"},
    {"SLURM_TRES_PER_TASK", Becomes::kNothing, "Slurm: CPUs and GPUs of the task"},
    {"SLURM_GPUS_PER_TASK", Becomes::kNothing, "Slurm: GPUs of the task"},
    {"SLURM_NTASKS_PER_CORE", Becomes::kNothing, "Slurm: tasks on a core"},
    {"SLURM_NTASKS_PER_GPU", Becomes::kNothing, "Slurm: tasks of a GPU"},
    {"SLURM_NTASKS_PER_SOCKET", Becomes::kNothing, "Slurm: tasks on a socket"},
    {"SLURM_TASK_PID", Becomes::kNothing, "Slurm: process of the task"},
    {"SLURM_MPI_TYPE", Becomes::kNothing, "Slurm: an MPI server of one process, not of these"},
    {"SLURM_PMIX_MAPPING_SERV", Becomes::kNothing, "Slurm: which PMIx rank is where"},
    {"SLURM_PMIXP_*", Becomes::kNothing, "Slurm: its PMIx server"},
};

}  // namespace

constinit const Launcher kSlurmLauncher{
    .name = "slurm",
    .probe = ProbeSlurm,
    .tested = "srun, also with pmi2 and pmix, heterogeneous, in containers",
    .documented = "srun --mpi=cray_shasta",
    .tuple = kVariables,
    .others = kOthers,
    .note = "the ranks in `SLURM_GTIDS` are counted: the local world size",
    .role = LauncherRole::kSlurm,
    .per_rank = kPerRank,
    .meets = Meets::kStep,
};

}  // namespace muster::resolve
