#include "bootstrap/join/startup.h"

#include <unistd.h>

#include <array>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/load.h"
#include "bootstrap/join/meeting.h"
#include "bootstrap/join/rank_block.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/slurm/job_end.h"
#include "bootstrap/slurm/slurm_scheduler.h"
#include "comm/auth/munge.h"
#include "comm/base/lists.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"
#include "comm/net/private_directory.h"
#include "comm/rendezvous/control/join.h"
#include "comm/rendezvous/pmi/pmix_api.h"

namespace muster::join {
namespace {

std::string_view BackendName(Backend backend) {
  constexpr auto kNames = std::to_array<std::string_view>({"auto", "nccl", "socket"});
  static_assert(kNames.size() == static_cast<size_t>(Backend::kSocket) + 1);
  return kNames.at(static_cast<size_t>(backend));
}

std::vector<std::pair<std::string, std::string>> MusterVariables(const Environment& environment) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, value] : environment.All()) {
    if (name.starts_with("MUSTER_")) variables.emplace_back(name, value);
  }
  return variables;
}

std::optional<std::filesystem::path> ConfigFile(const Environment& environment, const StartOptions& asked) {
  if (asked.config_file) return *asked.config_file;
  const auto named = environment.Get("MUSTER_CONFIG");
  if (!named || named->empty()) return std::nullopt;
  return std::string(*named);
}

std::string NodeOf(const RankTuple& tuple, const Environment& environment) {
  return tuple.node.value_or(environment.process()->host_name);
}

std::string_view FirstLabel(std::string_view host) { return host.substr(0, host.find('.')); }

// The readable part of the settings: it may still have the address of the group.
config::Config ReadableConfiguration(const Environment& environment, const StartOptions& asked) {
  std::optional<std::filesystem::path> file = ConfigFile(environment, asked);
  if (!config::LoadConfig(file, {}, {})) file.reset();
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> sets;
  for (const auto& variable : MusterVariables(environment)) {
    variables.push_back(variable);
    if (!config::LoadConfig(file, variables, {})) variables.pop_back();
  }
  for (const std::string& set : asked.sets) {
    sets.push_back(set);
    if (!config::LoadConfig(file, variables, sets)) sets.pop_back();
  }
  const Result<config::EffectiveConfig> effective = config::LoadConfig(file, variables, sets);
  return effective ? effective->config : config::Config{};
}

// A program under muster run has its supervisor, which others wait for.
bool IsAwaited(const std::optional<resolve::Resolution>& awaited) {
  return awaited && awaited->tuple.world_size > 1 &&
         !resolve::HasRole(awaited->tuple.launcher, resolve::LauncherRole::kSupervisor);
}

// "rank 3 on gpu02"; if the launcher's ranks are not the group's, the node alone.
std::string Subject(const RankTuple& tuple, const Environment& environment, const StartOptions& asked) {
  const std::string node = NodeOf(tuple, environment);
  return asked.stands_for_node ? node : DescribeRank(tuple.rank, node);
}

// Its rank in the group; -1 if it is unknown.
int FirstRank(const RankTuple& tuple, const StartOptions& asked) {
  if (!asked.stands_for_node) return tuple.rank;
  return asked.ranks_of_node > 0 ? RankBlock{tuple.rank, tuple.world_size, asked.ranks_of_node}.first_rank()
                                 : -1;
}

LogSubject SpeakerOf(const RankTuple& tuple, const Environment& environment, const StartOptions& asked) {
  LogSubject speaker{tuple.rank, NodeOf(tuple, environment), tuple.job.key};
  if (asked.stands_for_node) speaker.rank.reset();
  return speaker;
}

// A variable that was set for all ranks usually has the numbers of rank 0: rank 0 itself has no reason to warn of it.
bool IsLastOfNode(const RankTuple& tuple) {
  return !tuple.local_rank || !tuple.local_world_size || *tuple.local_rank + 1 == *tuple.local_world_size;
}

void Agree(const resolve::Resolution& resolution, const Meeting& meeting, rendezvous::Agreement& agreement) {
  const RankTuple& tuple = resolution.tuple;
  agreement.world_size = tuple.world_size;
  agreement.launcher = tuple.launcher;
  // A launcher whose restarts are counted for each node has none that a whole group could share.
  agreement.restart = meeting.restart_is_shared ? tuple.job.restart : 0;
  agreement.job_key = meeting.job_key;
}

// All but the secret.
Result<rendezvous::JoinRequest> PlanJoin(const Environment& environment, const config::Config& config,
                                         const StartOptions& asked, const resolve::Resolution& resolution) {
  const RankTuple& tuple = resolution.tuple;
  MUSTER_TRY(Meeting meeting,
             PlanMeeting(resolution, environment, config.rendezvous, asked.explicit_tuple.endpoint));
  rendezvous::JoinRequest request =
      BeginRequest(environment, config, NodeOf(tuple, environment), tuple.job.key);
  Agree(resolution, meeting, request.self.agreement);
  request.self.claims = {
      {tuple.rank, tuple.local_rank.value_or(-1), tuple.local_world_size.value_or(-1), {}}};
  request.scheduler = slurm::MakeSlurmScheduler(environment, resolution, meeting.placement,
                                                config.rendezvous.slurm_helper, config.timeouts);
  request.meeting = std::move(meeting);
  return request;
}

void BeginLog(const config::Config& config) {
  SetUpLog(config.log);
  SetLogTime(config.log_time, config.log);
}

void LogEach(LogLevel level, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) Log(level, "{}", line);
}

}  // namespace

Result<config::EffectiveConfig> LoadConfiguration(const Environment& environment, const StartOptions& asked) {
  return config::LoadConfig(ConfigFile(environment, asked), MusterVariables(environment), asked.sets);
}

void StartLog(const config::EffectiveConfig& effective) {
  BeginLog(effective.config);
  LogEach(LogLevel::kWarning, effective.warnings);
}

tl::expected<resolve::Resolution, resolve::Refusal> ResolveLaunch(const Environment& environment,
                                                                  const config::Config& config,
                                                                  const StartOptions& asked) {
  resolve::DetectOptions options;
  options.launcher = config.launcher;
  options.explicit_tuple = asked.explicit_tuple;
  const uid_t uid = environment.process() ? environment.process()->uid : 0;
  options.control_alive = [uid](const std::string& control) {
    return rendezvous::IsSupervisorThere(control, uid);
  };
  options.control_owner = [uid](const std::string& control) {
    return rendezvous::OtherOwnerOf(control, uid);
  };
  auto resolved = resolve::Resolve(environment, options);
  // A captured environment has its server elsewhere.
  if (resolved || !resolved.error().ask_pmix || !environment.live()) return resolved;
  const Result<PmixPlace> place = rendezvous::AskPmixServer(Deadline::After(config.timeouts.resolve));
  if (!place) {
    Error& error = resolved.error().error;
    error.message += fmt::format(", and its PMIx server cannot be queried: {}", place.error().message);
    return resolved;
  }
  options.pmix = *place;
  return resolve::Resolve(environment, options);
}

tl::expected<Started, resolve::Refusal> StartUp(const Environment& environment, const StartOptions& asked) {
  const auto refuse = [&](const Error& error) {
    resolve::Refusal refusal{error, std::nullopt, {}};
    const auto awaited = ResolveLaunch(environment, ReadableConfiguration(environment, asked), asked);
    if (awaited) refusal.awaited = *awaited;
    if (!awaited) refusal.awaited = awaited.error().awaited;
    return tl::unexpected<resolve::Refusal>(std::move(refusal));
  };
  Result<config::EffectiveConfig> effective = LoadConfiguration(environment, asked);
  if (!effective) return refuse(effective.error());
  BeginLog(effective->config);
  auto resolution = ResolveLaunch(environment, effective->config, asked);
  if (resolution && resolution->tuple.world_size > 1)
    SetLogSubject(SpeakerOf(resolution->tuple, environment, asked));
  // All ranks of a node have one configuration.
  const bool speaks = !resolution || resolution->tuple.local_rank.value_or(0) == 0;
  LogEach(speaks ? LogLevel::kWarning : LogLevel::kDebug, effective->warnings);
  if (!resolution) return tl::unexpected<resolve::Refusal>(std::move(resolution).error());
  LogEach(IsLastOfNode(resolution->tuple) ? LogLevel::kWarning : LogLevel::kDebug, resolution->warnings);
  return Started{*std::move(effective), *std::move(resolution)};
}

rendezvous::ReportedRefusal ReportStartFailure(const Environment& environment, const StartOptions& asked,
                                               const resolve::Refusal& refusal) {
  const Error& error = refusal.error;
  const auto node = environment.Get("SLURMD_NODENAME");
  if (refusal.awaited && refusal.awaited->tuple.world_size > 1) {
    SetLogSubject(SpeakerOf(refusal.awaited->tuple, environment, asked));
  } else if (!refusal.awaited && node && error.code == Code::kBadEnvironment) {
    // One of many that Slurm started: at least its node is certain.
    SetLogSubject({{}, std::string(*node), ""});
  }
  if (!IsAwaited(refusal.awaited)) return {error};
  config::Config config = ReadableConfiguration(environment, asked);
  Result<rendezvous::JoinRequest> request = PlanJoin(environment, config, asked, *refusal.awaited);
  if (!request) {
    // The method may be what is wrong here, and here alone.
    config.rendezvous.method = RendezvousMethod::kAuto;
    request = PlanJoin(environment, config, asked, *refusal.awaited);
  }
  if (!request) return {error};
  if (Result<std::optional<auth::JobSecret>> secret = SecretOf(environment)) request->secret = *secret;
  request->self.claims.front().rank = FirstRank(refusal.awaited->tuple, asked);
  request->self.refused = error;
  request->self.refused->message =
      fmt::format("{} was refused: {}", Subject(refusal.awaited->tuple, environment, asked), error.message);
  const uint64_t log_file = request->log_file;
  rendezvous::ReportedRefusal reported = rendezvous::ReportRefusal(*std::move(request));
  // If another rank is refused for the same reason, each reports its own: once in each log.
  if (!reported.error.message.ends_with(error.message)) return {std::move(reported.error)};
  return {error, reported.elsewhere && (log_file == 0 || log_file == reported.logged_in)};
}

rendezvous::ReportedRefusal ReportStartFailure(const Environment& environment, const StartOptions& asked,
                                               const resolve::Resolution& resolution, const Error& error) {
  return ReportStartFailure(environment, asked, resolve::Refusal{error, std::nullopt, {}, resolution});
}

std::vector<std::string> SharedDirectories(const Environment& environment) {
  return net::PrivateBases(environment.Get("TMPDIR").value_or(""));
}

Result<std::optional<auth::JobSecret>> SecretOf(const Environment& environment) {
  const auto text = environment.Get("MUSTER_SECRET");
  if (!text) return std::nullopt;
  return auth::JobSecret::Parse(*text, "MUSTER_SECRET");
}

rendezvous::JoinRequest BeginRequest(const Environment& environment, const config::Config& config,
                                     std::string node, std::string job) {
  const Environment::Process& process = *environment.process();
  rendezvous::JoinRequest request;
  request.self.node = std::move(node);
  request.named_by_host = FirstLabel(request.self.node) == FirstLabel(process.host_name);
  request.self.pid = process.pid;
  request.self.agreement.backend = BackendName(config.backend);
  request.self.agreement.configuration = config::GroupWideText(config);
  request.job = std::move(job);
  request.options = config.rendezvous;
  request.timeouts = slurm::CapAtJobEnd(config.timeouts, slurm::TimeLeftOfJob(environment));
  request.liveness = config.liveness;
  request.uid = process.uid;
  request.shared_directories = SharedDirectories(environment);
  request.munge_socket = auth::kDefaultMungeSocket;
  request.terminal = isatty(STDERR_FILENO) == 1;
  request.log_file = LogFileNumber();
  return request;
}

void WarnOfJobEnd(const Environment& environment, const config::Config& config) {
  const std::string cut = slurm::DescribeCap(config.timeouts, slurm::TimeLeftOfJob(environment));
  if (!cut.empty()) LogWarning("{}", cut);
}

Result<rendezvous::JoinRequest> MakeJoinRequest(const Environment& environment, const config::Config& config,
                                                const StartOptions& asked,
                                                const resolve::Resolution& resolution) {
  MUSTER_TRY(rendezvous::JoinRequest request, PlanJoin(environment, config, asked, resolution));
  MUSTER_TRY(request.secret, SecretOf(environment));
  request.self.agreement.configuration += fmt::format("command={}\n", asked.command);
  // A map goes on without a leader, but not without the nodes below it in the tree.
  if (asked.group_only) request.fan_out = 0;
  if (resolution.tuple.rank == 0) WarnOfJobEnd(environment, config);
  return request;
}

}  // namespace muster::join
