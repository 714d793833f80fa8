#include "bootstrap/run/outer_launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "bootstrap/environment/outer_variables.h"
#include "comm/base/parse.h"

namespace muster::run {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

// What a launcher says of the job, the step, the node or the CPUs is true of each rank and stays.
// TORCHELASTIC_RUN_ID stays with one rank per supervisor (torchrun's worker is that rank) and goes here (it is
// none of them). Of an MPI launcher the local rank alone is rewritten, which scripts use to choose a device:
// the rank and the size mean its server's MPI_COMM_WORLD.
constexpr auto kOuter = std::to_array<OuterVariable>({
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
    {"SLURM_MPI_TYPE", Becomes::kNothing, "Slurm: an MPI server that knows one process, not these"},
    {"SLURM_PMIX_MAPPING_SERV", Becomes::kNothing, "Slurm: which PMIx rank is where"},
    {"SLURM_PMIXP_*", Becomes::kNothing, "Slurm: its PMIx server"},
    {"PMI_RANK", Becomes::kNothing, "PMI"},
    {"PMI_SIZE", Becomes::kNothing, "PMI"},
    {"PMI_FD", Becomes::kNothing, "PMI: one connection cannot serve several ranks"},
    {"PMI_PORT", Becomes::kNothing, "PMI: server"},
    {"PMI_ID", Becomes::kNothing, "PMI: process"},
    {"PMI_JOBID", Becomes::kNothing, "PMI: server's job"},
    {"PMI_SPAWNED", Becomes::kNothing, "PMI"},
    {"PMI_LOCAL_RANK", Becomes::kNothing, "PMI"},
    {"PMI_LOCAL_SIZE", Becomes::kNothing, "PMI"},
    {"PMI_CONTROL_PORT", Becomes::kNothing, "PMI: server"},
    {"PMI_SHARED_SECRET", Becomes::kNothing, "PMI: server"},
    {"PMIX_RANK", Becomes::kNothing, "PMIx"},
    {"PMIX_NAMESPACE", Becomes::kNothing, "PMIx: server's job"},
    {"PMIX_ID", Becomes::kNothing, "PMIx: process"},
    {"PMIX_SERVER_*", Becomes::kNothing, "PMIx: a server that knows one process, not these"},
    {"PMIX_DSTORE_*", Becomes::kNothing, "PMIx: server's shared memory"},
    {"HYDI_CONTROL_FD", Becomes::kNothing, "Hydra: its proxy"},
    {"MPI_LOCALRANKID", Becomes::kLocalRank, "Hydra"},
    {"MPI_LOCALNRANKS", Becomes::kLocalSize, "Hydra"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", Becomes::kLocalRank, "Open MPI: local rank"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", Becomes::kLocalSize, "Open MPI: ranks on this node"},
    {"OMPI_COMM_WORLD_*", Becomes::kNothing, "Open MPI: rank and size"},
    {"OMPI_FIRST_RANKS", Becomes::kNothing, "Open MPI"},
    {"OMPI_UNIVERSE_SIZE", Becomes::kNothing, "Open MPI"},
    {"OMPI_APP_CTX_NUM_PROCS", Becomes::kNothing, "Open MPI"},
    {"OMPI_NUM_APP_CTX", Becomes::kNothing, "Open MPI"},
    {"OMPI_FILE_LOCATION", Becomes::kNothing, "Open MPI: session of the process"},
    {"OMPI_MCA_ess", Becomes::kNothing, "Open MPI 4: expect a PMIx server"},
    {"OMPI_MCA_ess_*", Becomes::kNothing, "Open MPI 4: daemon"},
    {"OMPI_MCA_orte_*", Becomes::kNothing, "Open MPI 4: daemon"},
    {"OMPI_MCA_pmix", Becomes::kNothing, "Open MPI 4: the PMIx server's kind"},
    {"PRTE_LAUNCHED", Becomes::kNothing, "Open MPI 5: expect a PMIx server"},
    {"MV2_COMM_WORLD_LOCAL_RANK", Becomes::kLocalRank, "MVAPICH2: local rank"},
    {"MV2_COMM_WORLD_LOCAL_SIZE", Becomes::kLocalSize, "MVAPICH2: ranks on this node"},
    {"MV2_COMM_WORLD_*", Becomes::kNothing, "MVAPICH2: rank and size"},
    {"JSM_NAMESPACE_*", Becomes::kNothing, "jsrun: rank and size"},
    {"PALS_RANKID", Becomes::kNothing, "PALS: rank"},
    {"PALS_LOCAL_RANKID", Becomes::kLocalRank, "PALS: local rank"},
    {"PALS_LOCAL_SIZE", Becomes::kLocalSize, "PALS: ranks on this node"},
    {"FLUX_TASK_RANK", Becomes::kNothing, "Flux: rank"},
    {"FLUX_TASK_LOCAL_ID", Becomes::kLocalRank, "Flux: local rank"},
    {"FLUX_JOB_SIZE", Becomes::kNothing, "Flux: number of tasks"},
    {"HOROVOD_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_LOCAL_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_LOCAL_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_CROSS_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_CROSS_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_GLOO_RENDEZVOUS_*", Becomes::kNothing, "Horovod: a rendezvous that waits for one process"},
    {"ROLE_RANK", Becomes::kNothing, "torchrun"},
    {"ROLE_WORLD_SIZE", Becomes::kNothing, "torchrun"},
    {"ROLE_NAME", Becomes::kNothing, "torchrun"},
    {"TORCHELASTIC_*", Becomes::kNothing,
     "torchrun: its agent, its restarts, one error file for one process"},
    {"LOCAL_SIZE", Becomes::kNothing, "DeepSpeed"},
    {"CROSS_RANK", Becomes::kNothing, "DeepSpeed"},
    {"CROSS_SIZE", Becomes::kNothing, "DeepSpeed"},
    {"SUBMITIT_LOCAL_GLOBALID", Becomes::kRank, "submitit: rank"},
    {"SUBMITIT_LOCAL_LOCALID", Becomes::kLocalRank, "submitit: local rank"},
    {"SUBMITIT_LOCAL_NTASKS", Becomes::kWorldSize, "submitit: number of tasks"},
    {"JAX_PROCESS_ID", Becomes::kRank, "Kubeflow: rank for JAX"},
    {"JAX_NUM_PROCESSES", Becomes::kWorldSize, "Kubeflow: size for JAX"},
});

// What srun sets for every task.
constexpr auto kOfEveryTask =
    std::to_array<std::string_view>({"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
                                     "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"});

bool IsSlurms(std::string_view name) { return name.starts_with("SLURM_"); }

// The first row: a name stands before the pattern that would take it, too.
const OuterVariable* FindOuter(std::string_view name) {
  const auto* found = std::ranges::find_if(kOuter, [&](const OuterVariable& outer) {
    if (!outer.name.ends_with('*')) return name == outer.name;
    return name.starts_with(outer.name.substr(0, outer.name.size() - 1));
  });
  return found == kOuter.end() ? nullptr : found;
}

std::string RanksByNode(const Roster& roster) {
  std::string text;
  const int nodes = static_cast<int>(roster.nodes.size());
  for (int node = 0; node < nodes;) {
    const int ranks = roster.LocalSize(node);
    int end = node + 1;
    while (end < nodes && roster.LocalSize(end) == ranks) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks);
    if (end - node > 1) text += fmt::format("(x{})", end - node);
    node = end;
  }
  return text;
}

std::string NodeNames(const Roster& roster) {
  std::vector<std::string> names;
  for (const Roster::Node& node : roster.nodes) names.push_back(node.name);
  return fmt::format("{}", fmt::join(names, ","));
}

class Rewriter {
 public:
  Rewriter(const Roster& roster, int rank, Variables& variables)
      : roster_(roster), rank_(rank), variables_(variables), again_(SlurmIsRewritten(variables)) {}

  void Run() {
    if (!again_) {
      std::erase_if(variables_,
                    [](const auto& variable) { return variable.first.starts_with(kOuterPrefix); });
    }
    in_step_ = variables_.contains("SLURM_STEP_NUM_NODES");
    other_nodes_ = HasOtherNodes();
    const Variables before = variables_;
    AddTaskOfSlurm();
    for (const auto& [name, value] : before) {
      const OuterVariable* outer = FindOuter(name);
      if (outer == nullptr || IsStillTrue(*outer)) continue;
      if (IsSlurms(name) || outer->becomes != Becomes::kNothing) Keep(name, value);
      const auto rewritten = ValueOf(*outer, value);
      if (rewritten) variables_[name] = *rewritten;
      if (!rewritten) variables_.erase(name);
    }
  }

 private:
  // Below another supervisor that has rewritten them, what the launcher itself had said is kept.
  void Keep(const std::string& name, const std::string& value) {
    const std::string kept = std::string(kOuterPrefix).append(name);
    if (again_ && IsSlurms(name)) {
      variables_.try_emplace(kept, value);
    } else {
      variables_[kept] = value;
    }
  }

  // A job and a step are those of each rank; their ids tell later whose the others are (SlurmIsRewritten).
  void AddTaskOfSlurm() {
    const auto job = variables_.find("SLURM_JOB_ID");
    if (job == variables_.end()) return;
    Keep("SLURM_JOB_ID", job->second);
    if (const auto step = variables_.find("SLURM_STEP_ID"); step != variables_.end())
      Keep("SLURM_STEP_ID", step->second);
    for (const std::string_view name : kOfEveryTask) {
      if (variables_.contains(name)) continue;
      const OuterVariable& outer = *FindOuter(name);
      if (const auto value = ValueOf(outer, "")) variables_[std::string(name)] = *value;
    }
  }

  bool HasOtherNodes() const {
    for (const std::string_view name : {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
      const auto found = variables_.find(name);
      if (found == variables_.end()) continue;
      return ParseInteger<size_t>(found->second) != roster_.nodes.size();
    }
    return false;
  }

  bool IsStillTrue(const OuterVariable& outer) const {
    switch (outer.becomes) {
      case Becomes::kNodeRank:
      case Becomes::kNumNodes:
      case Becomes::kNodeNames:
        return !other_nodes_;
      case Becomes::kRanksByNode:
        // Outside a step it counts the nodes of SLURM_JOB_NODELIST.
        return other_nodes_ && !in_step_;
      default:
        return false;
    }
  }

  std::optional<std::string> ValueOf(const OuterVariable& outer, std::string_view before) const {
    const Roster::Member& member = roster_.members[static_cast<size_t>(rank_)];
    switch (outer.becomes) {
      case Becomes::kRank:
        return std::to_string(rank_);
      case Becomes::kWorldSize:
        return std::to_string(roster_.size());
      case Becomes::kLocalRank:
        return std::to_string(member.local_rank);
      case Becomes::kLocalSize:
        return std::to_string(roster_.LocalSize(member.node));
      case Becomes::kNodeRank:
        return std::to_string(member.node);
      case Becomes::kNumNodes:
        return std::to_string(roster_.nodes.size());
      case Becomes::kNodeNames:
        return NodeNames(roster_);
      case Becomes::kRanksOfNode:
        return fmt::format("{}", fmt::join(roster_.RanksOn(member.node), ","));
      case Becomes::kRanksByNode:
        return RanksByNode(roster_);
      case Becomes::kShareOfCpus: {
        const int share = ParseInteger<int>(before).value_or(0) / roster_.LocalSize(member.node);
        if (share < 1) return std::nullopt;
        return std::to_string(share);
      }
      case Becomes::kNothing:
        break;
    }
    return std::nullopt;
  }

  const Roster& roster_;
  int rank_;
  Variables& variables_;
  bool again_;
  bool in_step_ = false;
  bool other_nodes_ = false;
};

}  // namespace

std::span<const OuterVariable> OuterVariables() { return kOuter; }

void RewriteForRank(const Roster& roster, int rank, Variables& variables) {
  Rewriter(roster, rank, variables).Run();
}

}  // namespace muster::run
