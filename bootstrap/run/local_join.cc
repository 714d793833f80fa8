#include "bootstrap/run/local_join.h"

#include <unistd.h>

#include <utility>

#include "bootstrap/config/config_digest.h"
#include "bootstrap/launch/ports_of_others.h"
#include "bootstrap/startup.h"
#include "comm/auth/munge.h"
#include "comm/base/log.h"

namespace muster {
namespace {

JoinRequest Begin(const Environment& environment, const Config& config) {
  const Environment::Process& process = *environment.process();
  JoinRequest request;
  request.self.node = process.host_name;
  request.self.pid = process.pid;
  request.self.agreement.world_size = 1;
  request.self.agreement.launcher = "launch";
  request.self.agreement.configuration = GroupWideText(config);
  request.self.claims = {{0, 0, 1, {}}};
  request.options = config.rendezvous;
  request.timeouts = config.timeouts;
  request.liveness = config.liveness;
  request.uid = process.uid;
  request.shared_directories = SharedDirectories(environment);
  request.log_file = LogFileNumber();
  request.meeting.ports_of_others = PortsOfOthers(environment.Get("SLURM_JOB_ID").value_or(""));
  return request;
}

void Meet(std::string key, JoinRequest& request) {
  request.meeting.key = std::move(key);
  request.meeting.job_key = request.meeting.key;
  request.self.agreement.job_key = request.meeting.job_key;
}

}  // namespace

JoinRequest MakeLocalJoin(const Environment& environment, const Config& config) {
  JoinRequest request = Begin(environment, config);
  Meet(fmt::format("launch uid={} pid={}", request.uid, request.self.pid), request);
  request.meeting.find_root = FindRoot::kSameNode;
  return request;
}

Result<JoinRequest> MakeJoinOfNodes(const Environment& environment, const Config& config,
                                    const Endpoint& endpoint, int node, int nodes) {
  JoinRequest request = Begin(environment, config);
  Meet(fmt::format("launch uid={} endpoint={} nodes={}", request.uid, ToString(endpoint), nodes), request);
  request.self.claims.front().rank = node;
  request.self.agreement.world_size = nodes;
  request.meeting.find_root = FindRoot::kEndpoint;
  request.meeting.endpoint = endpoint;
  request.munge_socket = kDefaultMungeSocket;
  request.terminal = isatty(STDERR_FILENO) == 1;
  if (const auto text = environment.Get("MUSTER_SECRET")) {
    MUSTER_TRY(request.secret, JobSecret::Parse(*text, "MUSTER_SECRET"));
  }
  return request;
}

}  // namespace muster
