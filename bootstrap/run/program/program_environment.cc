#include "bootstrap/run/program/program_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/environment/batch_job.h"
#include "bootstrap/environment/outer_variables.h"
#include "bootstrap/resolve/launchers/torch_variables.h"
#include "bootstrap/run/program/outer_launcher.h"

namespace muster::run {
namespace {

constexpr auto kTorchTuple = std::to_array<std::string_view>(
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK",
     "MASTER_ADDR", "MASTER_PORT", "ROLE_RANK", "ROLE_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE"});

constexpr RemovedVariable kRemoved[] = {
    {"MUSTER_LAUNCHER", "chose how muster was started; the program was started by muster"},
    {"MUSTER_SECRET", "a secret; the program gets what it needs through the control socket"},
};

void Remove(std::span<const RemovedVariable> removed, Variables& variables) {
  for (const RemovedVariable& variable : removed) variables.erase(std::string(variable.name));
}

void SetTorchTuple(const ProgramFacts& facts, Variables& variables) {
  const Roster::Member& member = facts.roster.members[static_cast<size_t>(facts.rank)];
  const std::string node = std::to_string(member.node);
  const std::string nodes = std::to_string(facts.roster.nodes.size());
  variables["RANK"] = std::to_string(facts.rank);
  variables["WORLD_SIZE"] = std::to_string(facts.roster.size());
  variables["LOCAL_RANK"] = std::to_string(member.local_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(facts.roster.LocalSize(member.node));
  variables["GROUP_RANK"] = node;  // torchrun's name for the node: its group is the node's agent
  variables["GROUP_WORLD_SIZE"] = nodes;
  variables["NODE_RANK"] = node;
  variables["MASTER_ADDR"] = facts.master_host;
  variables["MASTER_PORT"] = std::to_string(facts.master_port);
}

// As in torch/distributed/elastic/agent/server/local_elastic_agent.py and torch/distributed/run.py. An outer
// torchrun's values for this rank stay: its restarts are real.
void SetTorchrunsOwn(const ProgramFacts& facts, Variables& variables) {
  const auto outer = variables.find("TORCHELASTIC_RUN_ID");
  const bool under_torchrun = outer != variables.end() && !outer->second.starts_with(resolve::kMusterRunId);
  if (!under_torchrun) {
    variables["TORCHELASTIC_RUN_ID"] = fmt::format("{}{}", resolve::kMusterRunId, facts.job_key);
    variables["ROLE_NAME"] = "default";
    variables["ROLE_RANK"] = variables["RANK"];
    variables["ROLE_WORLD_SIZE"] = variables["WORLD_SIZE"];
  }
  if (!under_torchrun || facts.max_restarts > 0) {
    variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(facts.restarts);
    variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(facts.max_restarts);
  }
  if (facts.agent_store) variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  if (facts.threads) variables.try_emplace("OMP_NUM_THREADS", std::to_string(*facts.threads));
}

// A user's setting stays. NCCL takes a list of interfaces; Gloo would spread over all of them.
void SetForLibraries(const ProgramFacts& facts, Variables& variables) {
  for (const auto& [name, value] : facts.nccl) variables.try_emplace(name, value);
  if (!facts.interfaces.empty()) variables.try_emplace("GLOO_SOCKET_IFNAME", facts.interfaces.front());
}

std::string ValueOf(std::string_view placeholder, const ProgramFacts& facts) {
  if (placeholder == "master_addr") return facts.master_host;
  if (placeholder == "master_port") return std::to_string(facts.master_port);
  return ValueOfRank(placeholder, facts.roster, facts.rank, facts.job_key);
}

// From another muster above this one they would name a group that the program is not in.
void SetMusterTuple(const ProgramFacts& facts, const resolve::LauncherTable& launchers,
                    Variables& variables) {
  for (const std::string_view name : resolve::VariablesOf(launchers.With(resolve::LauncherRole::kSupervisor)))
    variables.erase(std::string(name));
  if (facts.control.empty()) return;
  variables["MUSTER_RANK"] = variables["RANK"];
  variables["MUSTER_WORLD_SIZE"] = variables["WORLD_SIZE"];
  variables["MUSTER_LOCAL_RANK"] = variables["LOCAL_RANK"];
  variables["MUSTER_LOCAL_WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"];
  variables["MUSTER_NODE_RANK"] = variables["NODE_RANK"];
  variables["MUSTER_NUM_NODES"] = variables["GROUP_WORLD_SIZE"];
  variables["MUSTER_NODE"] = facts.roster.NodeName(facts.rank);
  variables["MUSTER_GROUP"] = facts.roster.group_id;
  variables["MUSTER_CONTROL"] = facts.control;
  variables["MUSTER_JOB_KEY"] = facts.job_key;
  variables[std::string(kBatchJobRecord)] = BatchJobs(variables);
  variables["MUSTER_SUPERVISOR_PID"] = std::to_string(facts.supervisor_pid);
}

}  // namespace

std::string ValueOfRank(std::string_view placeholder, const Roster& roster, int rank,
                        std::string_view job_key) {
  const int node = roster.NodeOf(rank);
  if (placeholder == "rank") return std::to_string(rank);
  if (placeholder == "world_size") return std::to_string(roster.size());
  if (placeholder == "local_rank")
    return std::to_string(roster.members[static_cast<size_t>(rank)].local_rank);
  if (placeholder == "local_world_size") return std::to_string(roster.LocalSize(node));
  if (placeholder == "node_rank") return std::to_string(node);
  if (placeholder == "num_nodes") return std::to_string(roster.nodes.size());
  if (placeholder == "node") return roster.NodeName(rank);
  return std::string(job_key);
}

Variables ProgramVariables(const Variables& base, const ProgramFacts& facts,
                           const resolve::LauncherTable& launchers) {
  Variables variables = base;
  Remove(kRemoved, variables);
  for (const resolve::Launcher* launcher : launchers) Remove(launcher->removed, variables);
  if (facts.rewrite_for_rank) RewriteForRank(facts.roster, facts.rank, variables, launchers);
  SetTorchTuple(facts, variables);
  SetMusterTuple(facts, launchers, variables);
  SetTorchrunsOwn(facts, variables);
  SetForLibraries(facts, variables);
  for (const auto& [name, value] : facts.extra) {
    variables[name] = config::FillPlaceholders(
        value, [&](std::string_view placeholder) { return ValueOf(placeholder, facts); });
  }
  return variables;
}

std::vector<std::string> ToList(const Variables& variables) {
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    std::string& variable = list.emplace_back(name);
    variable += '=';
    variable += value;
  }
  return list;
}

Status CheckExtraVariables(const std::map<std::string, std::string>& extra) {
  const std::vector<std::string_view> tuple =
      resolve::VariablesOf(resolve::Launchers().With(resolve::LauncherRole::kSupervisor));
  for (const auto& [name, value] : extra) {
    if (std::ranges::count(kTorchTuple, name) + std::ranges::count(tuple, name) == 0) continue;
    return WithHint(Fail(Code::kConfiguration, "run.env sets {}, which muster sets itself", name),
                    "leave it out; a shell can give the program another name for it");
  }
  return {};
}

}  // namespace muster::run
