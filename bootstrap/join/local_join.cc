#include "bootstrap/join/local_join.h"

#include <utility>

#include "bootstrap/join/meeting.h"
#include "bootstrap/join/startup.h"

namespace muster::join {
namespace {

rendezvous::JoinRequest Begin(const Environment& environment, const config::Config& config, std::string job) {
  rendezvous::JoinRequest request =
      BeginRequest(environment, config, environment.process()->host_name, std::move(job));
  request.self.agreement.world_size = 1;
  request.self.agreement.launcher = "launch";
  request.self.claims = {{0, 0, 1, {}}};
  request.meeting.ports_of_others = PortsOfOthers(environment.Get("SLURM_JOB_ID").value_or(""));
  return request;
}

void Meet(std::string key, rendezvous::JoinRequest& request) {
  request.meeting.key = std::move(key);
  request.meeting.job_key = request.meeting.key;
  request.self.agreement.job_key = request.meeting.job_key;
}

}  // namespace

rendezvous::JoinRequest MakeLocalJoin(const Environment& environment, const config::Config& config,
                                      std::string job) {
  rendezvous::JoinRequest request = Begin(environment, config, std::move(job));
  Meet(fmt::format("launch uid={} pid={}", request.uid, request.self.pid), request);
  request.meeting.find_root = FindRoot::kSameNode;
  request.sole = true;
  WarnOfJobEnd(environment, config);
  return request;
}

Result<rendezvous::JoinRequest> MakeJoinOfNodes(const Environment& environment, const config::Config& config,
                                                const Endpoint& endpoint, bool any_port, int node, int nodes,
                                                std::string job) {
  rendezvous::JoinRequest request = Begin(environment, config, std::move(job));
  Meet(fmt::format("launch uid={} endpoint={} nodes={}", request.uid, ToString(endpoint), nodes), request);
  request.self.claims.front().rank = node;
  request.self.agreement.world_size = nodes;
  request.meeting.find_root = FindRoot::kEndpoint;
  request.meeting.endpoint = endpoint;
  if (any_port) {
    request.meeting.endpoint->port = 0;
    // Over ssh, some machines may have a SLURM_JOB_ID and some not: the ladder is the same on all.
    request.meeting.ports_of_others.clear();
  }
  MUSTER_TRY(request.secret, SecretOf(environment));
  if (node == 0) WarnOfJobEnd(environment, config);
  return request;
}

}  // namespace muster::join
