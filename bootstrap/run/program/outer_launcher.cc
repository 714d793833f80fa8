#include "bootstrap/run/program/outer_launcher.h"

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

// A launcher's row has its own (launchers.h). These are set by what is no launcher for muster.
constexpr OuterVariable kOfNoLauncher[] = {
    {"SUBMITIT_LOCAL_GLOBALID", Becomes::kRank, "submitit: rank"},
    {"SUBMITIT_LOCAL_LOCALID", Becomes::kLocalRank, "submitit: local rank"},
    {"SUBMITIT_LOCAL_NTASKS", Becomes::kWorldSize, "submitit: number of tasks"},
};

// The variables that srun sets for every task.
constexpr auto kOfEveryTask =
    std::to_array<std::string_view>({"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
                                     "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"});

bool IsSlurms(std::string_view name) { return name.starts_with("SLURM_"); }

std::string RanksByNode(const Roster& roster) {
  // Of all nodes together: a look-up for each node reads all ranks.
  std::vector<int> ranks(roster.nodes.size());
  for (const int node : roster.PlacesOfAll().nodes) ++ranks[static_cast<size_t>(node)];
  std::string text;
  for (auto begin = ranks.begin(); begin != ranks.end();) {
    const auto end = std::find_if(begin, ranks.end(), [begin](int other) { return other != *begin; });
    text += fmt::format("{}{}", text.empty() ? "" : ",", *begin);
    if (end - begin > 1) text += fmt::format("(x{})", end - begin);
    begin = end;
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
  Rewriter(const Roster& roster, int rank, Variables& variables, const resolve::LauncherTable& launchers)
      : roster_(roster),
        rank_(rank),
        variables_(variables),
        outer_(OuterVariables(launchers)),
        again_(SlurmIsRewritten(variables)) {}

  void Run() {
    if (!again_) {
      std::erase_if(variables_,
                    [](const auto& variable) { return variable.first.starts_with(kOuterPrefix); });
    }
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
  // The first row: a name precedes the pattern that would take it, too.
  const OuterVariable* FindOuter(std::string_view name) const {
    const auto found = std::ranges::find_if(outer_, [&](const OuterVariable& outer) {
      if (!outer.name.ends_with('*')) return name == outer.name;
      return name.starts_with(outer.name.substr(0, outer.name.size() - 1));
    });
    return found == outer_.end() ? nullptr : &*found;
  }

  // Below another supervisor that has rewritten them, the launcher's own value is kept.
  void Keep(const std::string& name, const std::string& value) {
    const std::string kept = std::string(kOuterPrefix).append(name);
    if (again_ && IsSlurms(name)) {
      variables_.try_emplace(kept, value);
    } else {
      variables_[kept] = value;
    }
  }

  // A job and a step are those of each rank; their ids show later whose the rest are (SlurmIsRewritten).
  void AddTaskOfSlurm() {
    const auto job = variables_.find("SLURM_JOB_ID");
    if (job == variables_.end()) return;
    Keep("SLURM_JOB_ID", job->second);
    if (const auto step = variables_.find("SLURM_STEP_ID"); step != variables_.end())
      Keep("SLURM_STEP_ID", step->second);
    for (const std::string_view name : kOfEveryTask) {
      if (variables_.contains(name)) continue;
      const OuterVariable* outer = FindOuter(name);
      if (outer == nullptr) continue;
      if (const auto value = ValueOf(*outer, "")) variables_[std::string(name)] = *value;
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
        // SLURM_TASKS_PER_NODE has a number for each node of SLURM_JOB_NODELIST: mpirun reads both.
        return other_nodes_ && !outer.name.starts_with("SLURM_STEP_");
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
  std::vector<OuterVariable> outer_;
  bool again_;
  bool other_nodes_ = false;
};

}  // namespace

std::vector<OuterVariable> OuterVariables(const resolve::LauncherTable& launchers) {
  std::vector<OuterVariable> all;
  for (const resolve::Launcher* launcher : launchers)
    all.insert(all.end(), launcher->per_rank.begin(), launcher->per_rank.end());
  all.insert(all.end(), std::begin(kOfNoLauncher), std::end(kOfNoLauncher));
  return all;
}

void RewriteForRank(const Roster& roster, int rank, Variables& variables,
                    const resolve::LauncherTable& launchers) {
  Rewriter(roster, rank, variables, launchers).Run();
}

}  // namespace muster::run
