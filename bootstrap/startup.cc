#include "bootstrap/startup.h"

#include <unistd.h>

#include "bootstrap/config/config_digest.h"
#include "bootstrap/config/load.h"
#include "bootstrap/launch/meeting.h"
#include "comm/auth/munge.h"
#include "comm/base/log.h"
#include "comm/rendezvous/join.h"

namespace muster {
namespace {

std::string_view BackendName(Backend backend) {
  switch (backend) {
    case Backend::kNccl:
      return "nccl";
    case Backend::kSocket:
      return "socket";
    default:
      return "auto";
  }
}

std::vector<std::pair<std::string, std::string>> MusterVariables(const Environment& environment) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, value] : environment.All()) {
    if (name.starts_with("MUSTER_")) variables.emplace_back(name, value);
  }
  return variables;
}

std::vector<std::string> SharedDirectories(const Environment& environment) {
  std::vector<std::string> directories = {"/dev/shm"};
  directories.emplace_back(environment.Get("TMPDIR").value_or("/tmp"));
  return directories;
}

Agreement MakeAgreement(const Config& config, const Resolution& resolution, const Meeting& meeting) {
  const RankTuple& tuple = resolution.tuple;
  Agreement agreement;
  agreement.world_size = tuple.world_size;
  agreement.launcher = tuple.launcher;
  // A launcher whose restarts are counted for each node has none that a whole group could share.
  const bool restart_is_shared = meeting.job_key.find(" restart=") != std::string::npos;
  agreement.restart = restart_is_shared ? tuple.job.restart : 0;
  agreement.job_key = meeting.job_key;
  agreement.backend = BackendName(config.backend);
  agreement.configuration = GroupWideText(config);
  return agreement;
}

}  // namespace

Result<EffectiveConfig> LoadConfiguration(const Environment& environment, const Asked& asked) {
  std::optional<std::filesystem::path> file;
  if (asked.config_file) {
    file = *asked.config_file;
  } else if (const auto named = environment.Get("MUSTER_CONFIG"); named && !named->empty()) {
    file = std::string(*named);
  }
  return LoadConfig(file, MusterVariables(environment), asked.sets);
}

Status StartLog(const EffectiveConfig& effective) {
  MUSTER_CHECK(SetUpLog(effective.config.log));
  for (const std::string& warning : effective.warnings) LogWarning("{}", warning);
  return {};
}

tl::expected<Resolution, Refusal> ResolveLaunch(const Environment& environment, const Config& config,
                                                const Asked& asked) {
  DetectOptions options;
  options.launcher = config.launcher;
  options.explicit_tuple = asked.explicit_tuple;
  const uid_t uid = environment.process() ? environment.process()->uid : 0;
  options.control_alive = [uid](const std::string& control) { return IsSupervisorThere(control, uid); };
  tl::expected<Resolution, Refusal> resolved = Resolve(environment, options);
  if (!resolved) return resolved;
  for (const std::string& warning : resolved->warnings) LogWarning("{}", warning);
  return resolved;
}

Result<JoinRequest> MakeJoinRequest(const Environment& environment, const Config& config, const Asked& asked,
                                    const Resolution& resolution, Bytes payload) {
  const RankTuple& tuple = resolution.tuple;
  MUSTER_TRY(Meeting meeting,
             PlanMeeting(resolution, environment, config.rendezvous, asked.explicit_tuple.endpoint));
  JoinRequest request;
  request.self.node = tuple.node.value_or(environment.process()->host_name);
  request.self.pid = environment.process()->pid;
  request.self.agreement = MakeAgreement(config, resolution, meeting);
  request.self.claims = {
      {tuple.rank, tuple.local_rank.value_or(-1), tuple.local_world_size.value_or(-1), std::move(payload)}};
  request.meeting = std::move(meeting);
  request.options = config.rendezvous;
  request.timeouts = config.timeouts;
  request.liveness = config.liveness;
  request.uid = environment.process()->uid;
  request.shared_directories = SharedDirectories(environment);
  request.munge_socket = kDefaultMungeSocket;
  request.terminal = isatty(STDERR_FILENO) == 1;
  if (const auto text = environment.Get("MUSTER_SECRET")) {
    MUSTER_TRY(request.secret, JobSecret::Parse(*text, "MUSTER_SECRET"));
  }
  return request;
}

}  // namespace muster
