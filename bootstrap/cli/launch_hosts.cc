#include "bootstrap/cli/launch_hosts.h"

#include <filesystem>
#include <utility>

#include "bootstrap/config/read_file.h"
#include "bootstrap/run/host_file.h"
#include "bootstrap/run/host_launch.h"
#include "comm/auth/secret.h"
#include "comm/base/parse.h"
#include "comm/rendezvous/names.h"

namespace muster {
namespace {

constexpr size_t kLongestHostFile = size_t{1} << 20;
// After the others were told of a failure: for their words to get here.
constexpr Duration kLastWords = std::chrono::seconds(10);

Result<std::string> RanksOf(const LaunchFlags& launch, const HostFile& hosts) {
  if (!launch.ranks.empty()) return launch.ranks;
  if (hosts.slots) return std::to_string(*hosts.slots);
  return WithHint(Fail(Code::kUsage, "muster launch --hosts needs to know how many ranks a machine has"),
                  "-n N, or slots=N behind each name in " + launch.host_file);
}

// Which port is free there is known when it is tried; any of thousands is as good as another.
Endpoint EndpointAt(const std::string& host, const Environment& environment, const Config& config) {
  const std::string key =
      fmt::format("hosts pid={} at={}", environment.process()->pid, Clock::now().time_since_epoch().count());
  return {host, PortLadder(key, config.rendezvous.ports).front()};
}

// The settings of this machine's environment, which ssh does not take along.
std::map<std::string, std::string> VariablesOf(const Environment& environment,
                                               const EffectiveConfig& effective) {
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

Result<JobSecret> SecretOf(const Environment& environment) {
  if (const auto text = environment.Get("MUSTER_SECRET")) return JobSecret::Parse(*text, "MUSTER_SECRET");
  return JobSecret::Generate();
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

}  // namespace

Result<int> LaunchOnHosts(const Environment& environment, const Asked& asked,
                          const EffectiveConfig& effective, const LaunchFlags& launch) {
  MUSTER_TRY(const std::string text, ReadSmallFile(launch.host_file, kLongestHostFile));
  MUSTER_TRY(HostFile hosts, ParseHostFile(text, launch.host_file));
  MUSTER_TRY(const std::string ranks, RanksOf(launch, hosts));
  MUSTER_TRY(const JobSecret secret, SecretOf(environment));
  const Endpoint endpoint = asked.explicit_tuple.endpoint
                                ? *asked.explicit_tuple.endpoint
                                : EndpointAt(hosts.hosts.front(), environment, effective.config);
  HostLaunchPlan plan;
  plan.ssh = Words(launch.ssh);
  if (plan.ssh.empty()) return Fail(Code::kUsage, "--ssh names no command");
  plan.launch = {std::filesystem::read_symlink("/proc/self/exe"), "launch"};
  // One machine is a group of its own.
  if (hosts.hosts.size() > 1) {
    plan.launch.insert(plan.launch.end(),
                       {"--nnodes", std::to_string(hosts.hosts.size()), "--endpoint", ToString(endpoint)});
  }
  plan.launch.insert(plan.launch.end(), {"-n", ranks, "--max-restarts", std::to_string(launch.max_restarts)});
  if (asked.config_file) plan.launch.insert(plan.launch.end(), {"-c", *asked.config_file});
  for (const std::string& set : asked.sets) plan.launch.insert(plan.launch.end(), {"--set", set});
  plan.hosts = std::move(hosts.hosts);
  plan.command = launch.command;
  plan.variables = VariablesOf(environment, effective);
  plan.directory = std::filesystem::current_path();
  for (const auto& [name, value] : environment.All()) {
    if (name != "MUSTER_SECRET") plan.environment.push_back(fmt::format("{}={}", name, value));
  }
  plan.secret = secret.Text();
  plan.patience = effective.config.run.grace + kLastWords;
  return HostLaunch(std::move(plan)).Run();
}

}  // namespace muster
