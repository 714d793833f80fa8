// A program under `muster run` or `muster launch`. Its supervisor sets, with the tuple it resolved itself:
//
//   MUSTER_RANK, MUSTER_WORLD_SIZE, MUSTER_LOCAL_RANK, MUSTER_LOCAL_WORLD_SIZE, MUSTER_NODE_RANK,
//   MUSTER_NUM_NODES, MUSTER_NODE
//   MUSTER_GROUP           the group id, 32 hex digits
//   MUSTER_CONTROL         the supervisor's socket
//   MUSTER_JOB_KEY         JobIdentity::key
//   MUSTER_BATCH_JOB       the batch job of the supervisor (batch_job.h)
//   MUSTER_SUPERVISOR_PID  its direct child is certainly a rank of that group
#include "bootstrap/environment/batch_job.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "MUSTER_RANK",
    .world_size = "MUSTER_WORLD_SIZE",
    .local_rank = "MUSTER_LOCAL_RANK",
    .local_world_size = "MUSTER_LOCAL_WORLD_SIZE",
    .node_rank = "MUSTER_NODE_RANK",
    .num_nodes = "MUSTER_NUM_NODES",
};

bool IsGroupId(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<Candidate> Read(const Environment& environment) {
  MUSTER_TRY(Candidate candidate, ReadTuple("muster", environment, kVariables));
  if (environment.Get("MUSTER_CONTROL").value_or("").empty()) {
    return Fail(Code::kBadEnvironment, "MUSTER_RANK={} is set but MUSTER_CONTROL is not",
                candidate.tuple.rank);
  }
  if (const auto group = environment.Get("MUSTER_GROUP"); !group || !IsGroupId(*group)) {
    return Fail(Code::kBadEnvironment, "MUSTER_GROUP=\"{}\" is not a group id of 32 hex digits",
                group.value_or(""));
  }
  ReadText(environment, "MUSTER_NODE", "node", candidate.tuple.node, candidate);
  std::optional<std::string> key;
  ReadText(environment, "MUSTER_JOB_KEY", "job.key", key, candidate);
  candidate.tuple.job.key = key ? *key : JobKey("muster", {});
  return candidate;
}

// It has inherited the variables from one of its programs, and Slurm started it: in a job that the program has submitted, or
// by way of mpiexec in a step of the same job. On the same node the supervisor answers.
bool IsStartedElsewhere(const Environment& environment) {
  if (!environment.live()) return false;
  const std::optional<bool> below = environment.process()->below_supervisor;
  return below ? !*below : IsOfAnotherBatchJob(environment);
}

Probed ProbeMuster(const Environment& environment, const ProbeContext& context) {
  const auto control = environment.Get("MUSTER_CONTROL");
  if (HasNoPair(environment, kVariables) && !control) return Absent{"no MUSTER_RANK"};
  if (HasNoPair(environment, kVariables)) {
    return Absent{"MUSTER_CONTROL is set without MUSTER_RANK: left over from another muster run", true};
  }
  if (control && environment.live() && context.control_alive &&
      !context.control_alive(std::string(*control))) {
    return Absent{
        fmt::format("MUSTER_CONTROL={} does not answer or is not ours: left over from another muster run",
                    *control),
        true};
  }
  if (IsStartedElsewhere(environment)) {
    return Absent{"MUSTER_SUPERVISOR_PID has not started this process: left over from another muster run",
                  true};
  }
  return ToProbed(Read(environment));
}

constexpr std::string_view kOthers[] = {"MUSTER_NODE",    "MUSTER_GROUP",     "MUSTER_CONTROL",
                                        "MUSTER_JOB_KEY", "MUSTER_BATCH_JOB", "MUSTER_SUPERVISOR_PID"};

}  // namespace

constinit const Launcher kMusterLauncher{
    .name = "muster",
    .probe = ProbeMuster,
    .tested = "`muster run`, `muster launch`",
    .tuple = kVariables,
    .others = kOthers,
    .role = LauncherRole::kSupervisor,
    .meets = Meets::kSupervisor,
};

}  // namespace muster::resolve
