// torchrun, torch.distributed.run and what builds on them (accelerate launch). Set by local_elastic_agent.py:
//   RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK (agent) GROUP_WORLD_SIZE (agents) MASTER_ADDR
//   MASTER_PORT TORCHELASTIC_RUN_ID (default "none") TORCHELASTIC_RESTART_COUNT (of this node's agent; the
//   nodes may differ)
// GROUP_RANK is given in the order of arrival: rank 0 need not be on the first node.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/launchers/torch_variables.h"

namespace muster::resolve {
namespace {

Result<Candidate> Read(const Environment& environment, std::string_view run_id) {
  MUSTER_TRY(Candidate candidate, ReadTuple("torchrun", environment, kTorchrunVariables));
  MUSTER_CHECK(ReadMaster(environment, candidate));
  MUSTER_TRY(const auto restart, environment.GetCount("TORCHELASTIC_RESTART_COUNT"));
  JobIdentity& job = candidate.tuple.job;
  job.id = run_id;
  candidate.sources.push_back({"job.id", "TORCHELASTIC_RUN_ID"});
  if (restart) candidate.sources.push_back({"job.restart", "TORCHELASTIC_RESTART_COUNT"});
  job.restart = restart.value_or(0);
  job.key = JobKey("torchrun", job);
  if (!candidate.tuple.local_rank)
    return Fail(Code::kBadEnvironment, "TORCHELASTIC_RUN_ID and RANK are set but LOCAL_RANK is not");
  return candidate;
}

Probed ProbeTorchrun(const Environment& environment, const ProbeContext&) {
  const auto run_id = environment.Get("TORCHELASTIC_RUN_ID");
  if (!run_id || run_id->empty()) return Absent{"no TORCHELASTIC_RUN_ID"};
  if (!HasTorchrun(environment)) return Absent{"TORCHELASTIC_RUN_ID is muster run's"};
  if (HasNoPair(environment, kTorchrunVariables)) {
    return Absent{"TORCHELASTIC_RUN_ID is set without RANK and WORLD_SIZE: left over from a torchrun", true};
  }
  return ToProbed(Read(environment, *run_id));
}

constexpr std::string_view kOthers[] = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"};

constexpr OuterVariable kPerRank[] = {
    {"ROLE_RANK", Becomes::kNothing, "torchrun"},
    {"ROLE_WORLD_SIZE", Becomes::kNothing, "torchrun"},
    {"ROLE_NAME", Becomes::kNothing, "torchrun"},
    {"TORCHELASTIC_*", Becomes::kNothing,
     "torchrun: its agent, its restarts, one error file for one process"},
};

constexpr RemovedVariable kRemoved[] = {
    {"TORCHELASTIC_USE_AGENT_STORE",
     "promises a store of the outer torchrun on MASTER_PORT, which is muster's port now"},
};

}  // namespace

constinit const Launcher kTorchrunLauncher{
    .name = "torchrun",
    .probe = ProbeTorchrun,
    .tested = "torchrun, torch.distributed.launch, Accelerate",
    .documented = "SageMaker; Kubeflow PyTorchJob v1, Trainer v2",
    .tuple = kTorchrunVariables,
    .others = kOthers,
    .nonce = "TORCHELASTIC_ERROR_FILE",  // in a new directory
    .per_rank = kPerRank,
    .removed = kRemoved,
    .meets = Meets::kMaster,
    .store_variable = "TORCHELASTIC_USE_AGENT_STORE",
    .restarts_by_node = true,  // TORCHELASTIC_RESTART_COUNT is each agent's own count
    .orders_nodes = true,
};

}  // namespace muster::resolve
