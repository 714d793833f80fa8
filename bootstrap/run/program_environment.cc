#include "bootstrap/run/program_environment.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr auto kMusterTuple = std::to_array<std::string_view>(
    {"MUSTER_RANK", "MUSTER_WORLD_SIZE", "MUSTER_LOCAL_RANK", "MUSTER_LOCAL_WORLD_SIZE", "MUSTER_NODE_RANK",
     "MUSTER_NUM_NODES", "MUSTER_NODE", "MUSTER_GROUP", "MUSTER_CONTROL", "MUSTER_JOB_KEY",
     "MUSTER_SUPERVISOR_PID"});

constexpr auto kTorchTuple =
    std::to_array<std::string_view>({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                                     "GROUP_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"});

bool Matches(const RemovedVariable& removed, std::string_view name) {
  if (!removed.name.ends_with('*')) return name == removed.name;
  return name.starts_with(removed.name.substr(0, removed.name.size() - 1));
}

void Remove(std::span<const RemovedVariable> list, Variables& variables) {
  std::erase_if(variables, [&](const auto& variable) {
    return std::ranges::any_of(
        list, [&](const RemovedVariable& removed) { return Matches(removed, variable.first); });
  });
}

void SetTorchTuple(const ProgramFacts& facts, Variables& variables) {
  const Roster::Member& member = facts.roster.members[static_cast<size_t>(facts.rank)];
  const std::string node = std::to_string(member.node);
  const std::string nodes = std::to_string(facts.roster.nodes.size());
  variables["RANK"] = std::to_string(facts.rank);
  variables["WORLD_SIZE"] = std::to_string(facts.roster.size());
  variables["LOCAL_RANK"] = std::to_string(member.local_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(facts.roster.LocalSize(member.node));
  variables["GROUP_RANK"] = node;  // torchrun's word for the node: its group is the node's agent
  variables["GROUP_WORLD_SIZE"] = nodes;
  variables["NODE_RANK"] = node;
  variables["MASTER_ADDR"] = facts.master_host;
  variables["MASTER_PORT"] = std::to_string(facts.master_port);
}

// From another muster above this one they would name a group that the program is not in.
void SetMusterTuple(const ProgramFacts& facts, Variables& variables) {
  for (const std::string_view name : kMusterTuple) variables.erase(std::string(name));
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
  variables["MUSTER_SUPERVISOR_PID"] = std::to_string(facts.supervisor_pid);
}

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<std::string> ProgramEnvironment(const Variables& base, const ProgramFacts& facts) {
  Variables variables = base;
  Remove(RemovedAlways(), variables);
  if (facts.several_ranks) Remove(LyingForSeveral(), variables);
  SetTorchTuple(facts, variables);
  SetMusterTuple(facts, variables);
  for (const auto& [name, value] : facts.extra) variables[name] = value;
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
  for (const auto& [name, value] : extra) {
    if (!Contains(kTorchTuple, name) && !Contains(kMusterTuple, name)) continue;
    return WithHint(Fail(Code::kConfiguration, "run.env sets {}, which muster sets itself", name),
                    "leave it out; a program that wants another name for it can be given one by a shell");
  }
  return {};
}

}  // namespace muster
