#include "bootstrap/cli/launch_hosts.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "bootstrap/config/text/read_file.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/hosts/host_file.h"
#include "bootstrap/hosts/host_launch.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/auth/secret.h"
#include "comm/base/parse.h"
#include "comm/rendezvous/link/names.h"

namespace muster::cli {
namespace {

constexpr size_t kLongestHostFile = size_t{1} << 20;
// After a failure was reported to the machines: for their output to arrive.
constexpr Duration kFinalOutputWait = std::chrono::seconds(10);

Result<std::string> RanksOf(const LaunchFlags& launch, const hosts::HostFile& hosts) {
  if (!launch.ranks.empty()) return launch.ranks;
  if (hosts.slots) return std::to_string(*hosts.slots);
  return WithHint(Fail(Code::kUsage, "muster launch --hosts needs to know how many ranks a machine has"),
                  "-n N, or slots=N behind each name in " + launch.host_file);
}

// The port is a number for this launch (--any-port): the first machine takes one that is free there.
Endpoint EndpointAt(const std::string& host, const Environment& environment, const config::Config& config) {
  const std::string key =
      fmt::format("hosts pid={} at={}", environment.process()->pid, Clock::now().time_since_epoch().count());
  return {hosts::AddressOf(host), rendezvous::PortLadder(key, config.rendezvous.ports, {}, 1).front()};
}

// The settings of this machine's environment, which ssh does not take along.
std::map<std::string, std::string> VariablesOf(const Environment& environment,
                                               const config::EffectiveConfig& effective) {
  std::map<std::string, std::string> variables;
  const auto copy = [&](const std::string& name) {
    if (const auto value = environment.Get(name)) variables[name] = std::string(*value);
  };
  copy("MUSTER_CONFIG");
  for (const auto& [path, origin] : effective.origins) {
    if (origin.starts_with("MUSTER_")) copy(origin);
  }
  return variables;
}

// A value of --set is an argument again there, which every user of that machine can read: not so run.env.
void TakeSets(const std::vector<std::string>& sets, hosts::HostLaunchPlan& plan) {
  constexpr std::string_view kHidden = "run.env=";
  for (const std::string& set : sets) {
    if (set.starts_with(kHidden)) {
      plan.variables["MUSTER_RUN_ENV"] = set.substr(kHidden.size());
    } else {
      plan.launch.insert(plan.launch.end(), {"--set", set});
    }
  }
}

Result<std::string> ThisDirectory(const Environment& environment) {
  std::error_code error;
  std::string directory = std::filesystem::current_path(error);
  if (!error) return directory;
  // A shell that starts in a directory that is gone leaves PWD empty.
  const std::string_view name = environment.Get("PWD").value_or("");
  return WithHint(Fail(Code::kSystem, "the working directory {} cannot be found: {}",
                       name.empty() ? "of this process" : name, error.message()),
                  "change to a directory that exists on every machine");
}

Result<std::string> ThisProgram() {
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return program;
  return Fail(Code::kSystem, "cannot read /proc/self/exe: {}", error.message());
}

Result<auth::JobSecret> SecretForHosts(const Environment& environment) {
  if (const auto text = environment.Get("MUSTER_SECRET"))
    return auth::JobSecret::Parse(*text, "MUSTER_SECRET");
  return auth::JobSecret::Generate();
}

// The command of each machine; each of them prints its own ranks with --dry-run.
Result<int> DryRun(const hosts::HostLaunchPlan& plan, bool json) {
  nlohmann::ordered_json machines = nlohmann::ordered_json::array();
  for (size_t node = 0; node < plan.hosts.size(); ++node) {
    std::vector<std::string> words = plan.launch;
    if (plan.hosts.size() > 1) words.insert(words.end(), {"--node-rank", std::to_string(node)});
    words.emplace_back("--");
    words.insert(words.end(), plan.command.begin(), plan.command.end());
    machines.push_back(
        {{"host", plan.hosts[node]}, {"ssh", plan.ssh}, {"directory", plan.directory}, {"command", words}});
  }
  if (json) {
    MUSTER_CHECK(process::Print(nlohmann::ordered_json{{"machines", machines}}.dump(
                                    -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                                "\n"));
    return 0;
  }
  std::string text = fmt::format("dry run: nothing is started\n\ndirectory  {}\n", plan.directory);
  for (const auto& machine : machines) {
    text += fmt::format("{}\n  {} {}\n  {}\n", machine["host"].get<std::string>(), fmt::join(plan.ssh, " "),
                        machine["host"].get<std::string>(),
                        fmt::join(machine["command"].get<std::vector<std::string>>(), " "));
  }
  MUSTER_CHECK(process::Print(text));
  return 0;
}

}  // namespace

Status CheckReachedByOthers(const Endpoint& endpoint) {
  if (!IsLoopback(endpoint.host)) return {};
  return WithHint(Fail(Code::kUsage, "the endpoint {} is a loopback address: other machines do not reach it",
                       ToString(endpoint)),
                  "name the machine with --node-rank 0, with --hosts the first one, as the others reach it");
}

Result<int> LaunchOnHosts(const Environment& environment, const join::StartOptions& asked,
                          const config::EffectiveConfig& effective, const LaunchFlags& launch) {
  MUSTER_TRY(const std::string text, config::ReadSmallFile(launch.host_file, kLongestHostFile));
  MUSTER_TRY(hosts::HostFile hosts, hosts::ParseHostFile(text, launch.host_file));
  MUSTER_TRY(const std::string ranks, RanksOf(launch, hosts));
  MUSTER_TRY(const auth::JobSecret secret, SecretForHosts(environment));
  const Endpoint endpoint = asked.explicit_tuple.endpoint
                                ? *asked.explicit_tuple.endpoint
                                : EndpointAt(hosts.hosts.front(), environment, effective.config);
  hosts::HostLaunchPlan plan;
  for (const std::string_view word : Words(launch.ssh, " ")) plan.ssh.emplace_back(word);
  if (plan.ssh.empty()) return Fail(Code::kUsage, "--ssh names no command");
  MUSTER_TRY(const std::string program, ThisProgram());
  plan.launch = {program, "launch"};
  // One machine forms its own group.
  if (hosts.hosts.size() > 1) {
    MUSTER_CHECK(CheckReachedByOthers(endpoint));
    plan.launch.insert(plan.launch.end(),
                       {"--nnodes", std::to_string(hosts.hosts.size()), "--endpoint", ToString(endpoint)});
    if (!asked.explicit_tuple.endpoint) plan.launch.emplace_back("--any-port");
  }
  plan.launch.insert(plan.launch.end(), {"-n", ranks, "--max-restarts", std::to_string(launch.max_restarts)});
  if (asked.config_file) plan.launch.insert(plan.launch.end(), {"-c", *asked.config_file});
  plan.hosts = std::move(hosts.hosts);
  plan.command = launch.command;
  plan.variables = VariablesOf(environment, effective);
  TakeSets(asked.sets, plan);
  MUSTER_TRY(plan.directory, ThisDirectory(environment));
  for (const auto& [name, value] : environment.All()) {
    if (name != "MUSTER_SECRET") plan.environment.push_back(fmt::format("{}={}", name, value));
  }
  plan.secret = secret.Text();
  plan.patience = effective.config.run.grace + kFinalOutputWait;
  if (launch.dry_run) return DryRun(plan, launch.json);
  return hosts::HostLaunch(std::move(plan)).Run();
}

}  // namespace muster::cli
