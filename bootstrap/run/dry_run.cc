#include "bootstrap/run/dry_run.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/run/programs.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kDecidedAtTheStart = std::to_array<std::string_view>(
    {"MASTER_PORT", "MUSTER_CONTROL", "MUSTER_GROUP", "MUSTER_SUPERVISOR_PID"});
// Of a rank on a node that the launcher does not name before the rendezvous.
constexpr auto kOfTheNode = std::to_array<std::string_view>(
    {"GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MUSTER_LOCAL_RANK",
     "MUSTER_LOCAL_WORLD_SIZE", "MUSTER_NODE_RANK", "MUSTER_NUM_NODES", "NODE_RANK", "OMP_NUM_THREADS"});
constexpr auto kSecretWords = std::to_array<std::string_view>({"SECRET", "TOKEN", "PASSWORD", "KEY"});

struct Layout {
  Roster roster;
  bool known = true;  // else the nodes of other processes' ranks are not
};

// Nodes in the order of their lowest rank, as the roster will have them.
Roster FromPlacement(const Placement& placement) {
  Roster roster;
  std::map<int, int> index;
  std::map<int, int> ranks_on;
  for (const int node : placement.node_of_rank) {
    const auto [found, is_new] = index.emplace(node, static_cast<int>(roster.nodes.size()));
    if (is_new) roster.nodes.push_back({placement.nodes[static_cast<size_t>(node)].name, {}});
    roster.members.push_back({found->second, ranks_on[node]++, 0, {}});
  }
  return roster;
}

// As many ranks on each node as this process has: it represents all of its node.
Roster FromBlock(const SupervisorPlan& plan) {
  const auto& claims = plan.join->self.claims;
  const int ranks = static_cast<int>(claims.size());
  const int nodes = plan.join->self.agreement.world_size / ranks;
  Roster roster;
  for (int node = 0; node < nodes; ++node) {
    const bool own = node == claims.front().rank / ranks;
    const bool root = node == 0 && plan.join->meeting.endpoint;
    roster.nodes.push_back({own    ? plan.node
                            : root ? plan.join->meeting.endpoint->host
                                   : fmt::format("node {}", node),
                            {}});
    for (int local = 0; local < ranks; ++local) roster.members.push_back({node, local, 0, {}});
  }
  return roster;
}

Layout LayoutOf(const SupervisorPlan& plan) {
  if (!plan.join) return {GroupOfOne(plan.node).roster, true};
  const auto& claims = plan.join->self.claims;
  const size_t world = static_cast<size_t>(plan.join->self.agreement.world_size);
  const Placement& placement = plan.join->meeting.placement;
  if (placement.node_of_rank.size() == world) return {FromPlacement(placement), true};
  if (claims.front().local_size == static_cast<int>(claims.size()) && world % claims.size() == 0) {
    return {FromBlock(plan), true};
  }
  Roster here;
  here.nodes.push_back({plan.node, {}});
  for (size_t rank = 0; rank < world; ++rank) here.members.push_back({0, static_cast<int>(rank), 0, {}});
  return {std::move(here), plan.join->meeting.find_root == FindRoot::kSameNode};
}

std::vector<int> OwnRanks(const SupervisorPlan& plan) {
  std::vector<int> ranks;
  if (!plan.join) return {0};
  for (const auto& claim : plan.join->self.claims) ranks.push_back(claim.rank);
  return ranks;
}

// A variable that differs from muster's own environment; nullopt: decided later, with the reason in `text`.
struct Variable {
  std::string name;
  bool decided = true;
  std::string text;
};

std::vector<Variable> Changes(const SupervisorPlan& plan, const Layout& layout, int rank) {
  std::vector<Variable> changes;
  for (const auto& [name, text] : VariablesFor(plan, layout.roster, rank, "?")) {
    Variable variable{name, true, text};
    const auto own = plan.environment.find(variable.name);
    if (own != plan.environment.end() && own->second == variable.text) continue;
    const bool alone = layout.roster.size() == 1;
    const bool address = variable.name == "MASTER_ADDR" && layout.known && layout.roster.nodes.size() > 1;
    const bool secret = std::ranges::any_of(
        kSecretWords, [&](std::string_view word) { return variable.name.find(word) != std::string::npos; });
    variable.decided = false;
    if (address) {
      variable.text = "an address of " + layout.roster.nodes.front().name;
    } else if (!alone && std::ranges::count(kDecidedAtTheStart, variable.name) > 0) {
      variable.text = "chosen at the start";
    } else if (!layout.known && std::ranges::count(kOfTheNode, variable.name) > 0) {
      variable.text = "known when the ranks have met";
    } else if (secret && variable.name != "MUSTER_JOB_KEY") {
      variable.text = "not shown";
    } else {
      variable.decided = true;
    }
    changes.push_back(std::move(variable));
  }
  // A world of one has no supervisor's socket.
  if (layout.roster.size() == 1)
    std::erase_if(changes, [](const Variable& v) { return v.text == "?" || v.name.starts_with("MUSTER_"); });
  return changes;
}

std::vector<std::string> Removed(const SupervisorPlan& plan, const Layout& layout, int rank) {
  const Variables kept = VariablesFor(plan, layout.roster, rank, "?");
  std::vector<std::string> removed;
  for (const auto& [name, value] : plan.environment) {
    if (!kept.contains(name)) removed.push_back(name);
  }
  return removed;
}

std::string MeetingOf(const SupervisorPlan& plan) {
  if (!plan.join) return "none: a world of one";
  const Meeting& meeting = plan.join->meeting;
  const PortRange& range = plan.config.rendezvous.ports;
  const std::string ports = fmt::format("a port of {}-{}", range.first, range.last);
  switch (meeting.find_root) {
    case FindRoot::kSameNode:
      return "on this node, over a Unix socket; no port";
    case FindRoot::kFirstNode:
      return fmt::format("on {}, the first node, at {}", meeting.placement.nodes.front().name, ports);
    case FindRoot::kHost:
      return fmt::format("on {}, the node of rank 0, at {}", meeting.host, ports);
    case FindRoot::kSearch:
      return "on the node of rank 0, which is searched among all nodes, at " + ports;
    case FindRoot::kEndpoint:
      return meeting.endpoint->port != 0 ? "at " + ToString(*meeting.endpoint)
                                         : fmt::format("on {}, at {}", meeting.endpoint->host, ports);
    case FindRoot::kEndpointStore:
      break;
  }
  const std::string where = meeting.torch_store ? "the store at " + ToString(*meeting.torch_store)
                            : meeting.directory ? "a file in " + *meeting.directory
                            : meeting.pmix      ? std::string("the launcher's PMIx server")
                                                : std::string("the launcher's PMI server");
  return fmt::format("on the node of rank 0, at {}, which it leaves in {}", ports, where);
}

std::string AuthenticationOf(const SupervisorPlan& plan) {
  constexpr std::array<std::string_view, 4> kMethods = {"auto", "munge", "secret", "none"};
  const std::string_view method = kMethods.at(static_cast<size_t>(plan.config.rendezvous.auth));
  const bool secret = plan.environment.contains("MUSTER_SECRET");
  return fmt::format("rendezvous.auth: {}; MUSTER_SECRET is {}", method,
                     secret ? "present (not shown)" : "absent");
}

std::vector<std::pair<std::string, std::string>> TimeoutsOf(const SupervisorPlan& plan) {
  const TimeoutOptions& timeouts = plan.join ? plan.join->timeouts : plan.config.timeouts;
  return {{"timeouts.rendezvous", FormatDuration(timeouts.rendezvous)},
          {"timeouts.connect", FormatDuration(timeouts.connect)},
          {"timeouts.collective", FormatDuration(timeouts.collective)},
          {"timeouts.barrier", FormatDuration(timeouts.barrier)},
          {"timeouts.shutdown", FormatDuration(timeouts.shutdown)},
          {"liveness.dead_after", FormatDuration(plan.config.liveness.dead_after)},
          {"run.grace", FormatDuration(plan.config.run.grace)}};
}

std::string Written(const Variable& variable) {
  return variable.decided ? fmt::format("{}={}", variable.name, variable.text)
                          : fmt::format("{} ({})", variable.name, variable.text);
}

std::string Environments(const SupervisorPlan& plan, const Layout& layout) {
  const std::vector<int> own = OwnRanks(plan);
  const std::vector<Variable> first = Changes(plan, layout, own.front());
  std::string text = fmt::format("\nenvironment of rank {}, beside that of muster\n", own.front());
  for (const Variable& variable : first) text += fmt::format("  {}\n", Written(variable));
  const std::vector<std::string> removed = Removed(plan, layout, own.front());
  if (!removed.empty()) text += fmt::format("  without {}\n", fmt::join(removed, ", "));
  for (size_t i = 1; i < own.size(); ++i) {
    text += fmt::format("  rank {}:", own[i]);
    for (const Variable& variable : Changes(plan, layout, own[i])) {
      const auto same = std::ranges::find_if(
          first, [&](const Variable& v) { return v.name == variable.name && v.text == variable.text; });
      if (same == first.end()) text += " " + Written(variable);
    }
    text += '\n';
  }
  if (static_cast<int>(own.size()) < layout.roster.size())
    text += "  other ranks: the same variables, with their own values\n";
  return text;
}

}  // namespace

std::string DryRunText(const SupervisorPlan& plan, const std::string& launcher) {
  const Layout layout = LayoutOf(plan);
  std::string text =
      fmt::format("dry run: nothing is started\n\ncommand         {}\nlauncher        {}, {}\n",
                  config::Joined(plan.command, " ", config::ShellQuoted), launcher, plan.job_key);
  text += layout.known ? fmt::format("ranks           {}, nodes {}\n", layout.roster.size(),
                                     layout.roster.nodes.size())
                       : fmt::format("ranks           {}; their nodes are known when they have met\n",
                                     layout.roster.size());
  for (int node = 0; layout.known && node < static_cast<int>(layout.roster.nodes.size()); ++node) {
    std::vector<int> ranks = layout.roster.RanksOn(node);
    std::ranges::sort(ranks);
    text += fmt::format("  {:<13} {}\n", layout.roster.nodes[static_cast<size_t>(node)].name,
                        FormatRanges(ranks));
  }
  text += fmt::format("meeting         {}\n", MeetingOf(plan));
  if (plan.join) text += fmt::format("authentication  {}\n", AuthenticationOf(plan));
  text += "timeouts       ";
  for (const auto& [name, value] : TimeoutsOf(plan)) text += fmt::format(" {}={}", name, value);
  text += fmt::format("\nrestarts        at most {}\n", plan.max_restarts);
  return text + Environments(plan, layout);
}

std::string DryRunJson(const SupervisorPlan& plan, const std::string& launcher) {
  const Layout layout = LayoutOf(plan);
  Json object = {{"command", plan.command},
                 {"launcher", launcher},
                 {"job", plan.job_key},
                 {"world_size", layout.roster.size()}};
  object["nodes"] = nullptr;
  if (layout.known) {
    object["nodes"] = Json::array();
    for (int node = 0; node < static_cast<int>(layout.roster.nodes.size()); ++node) {
      object["nodes"].push_back({{"name", layout.roster.nodes[static_cast<size_t>(node)].name},
                                 {"ranks", layout.roster.RanksOn(node)}});
    }
  }
  object["meeting"] = MeetingOf(plan);
  object["authentication"] = plan.join ? Json(AuthenticationOf(plan)) : Json(nullptr);
  for (const auto& [name, value] : TimeoutsOf(plan)) object["timeouts"][name] = value;
  object["max_restarts"] = plan.max_restarts;
  object["programs"] = Json::array();
  for (const int rank : OwnRanks(plan)) {
    Json program = {{"rank", rank}, {"environment", Json::object()}, {"undecided", Json::object()}};
    for (const Variable& variable : Changes(plan, layout, rank)) {
      program[variable.decided ? "environment" : "undecided"][variable.name] = variable.text;
    }
    program["removed"] = Removed(plan, layout, rank);
    object["programs"].push_back(std::move(program));
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::run
