#include "bootstrap/join/membership.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bootstrap/config/load.h"
#include "bootstrap/join/data_options.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/slurm/job_end.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"
#include "comm/rendezvous/control/join.h"

namespace muster::join {
namespace {

TimeoutOptions Limited(const TimeoutOptions& configured, const LimitTimeouts& limit,
                       const Environment& environment) {
  return slurm::CapAtJobEnd(limit ? limit(configured) : configured, slurm::TimeLeftOfJob(environment));
}

DataOptions DataOptionsOf(const Environment& environment, const config::Config& config,
                          const StartOptions& asked, const Membership& membership) {
  DataOptions options = MakeDataOptions(environment, config, membership.timeouts);
  options.host_only = asked.host_memory_only;
  return options;
}

Status Take(Result<DataPlane> plane, Membership& membership) {
  if (!plane) return Fail(std::move(plane).error());
  membership.communicator = std::move(plane->communicator);
  membership.gpus = std::move(plane->gpus);
  return {};
}

Result<Membership> Form(const Environment& environment, const config::Config& config,
                        const StartOptions& asked, const resolve::Resolution& resolution,
                        const LimitTimeouts& limit) {
  Membership membership;
  membership.timeouts = Limited(config.timeouts, limit, environment);
  const auto began = Clock::now();
  Result<rendezvous::JoinRequest> request = MakeJoinRequest(environment, config, asked, resolution);
  if (!request) return Fail(ReportStartFailure(environment, asked, resolution, request.error()).error);
  if (asked.group_only) {
    MUSTER_TRY(membership.group, rendezvous::JoinGroup(*std::move(request)));
    membership.formed_in = Clock::now() - began;
    return membership;
  }
  const bool several_nodes = request->meeting.find_root != FindRoot::kSameNode;
  auto endpoint = socket::SocketEndpoint::Open({.tcp = several_nodes, .bases = request->shared_directories});
  if (!endpoint) return Fail(ReportStartFailure(environment, asked, resolution, endpoint.error()).error);
  const DataOptions options = DataOptionsOf(environment, config, asked, membership);
  request->self.claims.front().payload = DataPayload(**endpoint, options);
  request->own_directory = (*endpoint)->directory();
  MUSTER_TRY(membership.group, rendezvous::JoinGroup(*std::move(request)));
  membership.formed_in = Clock::now() - began;
  MUSTER_CHECK(Take(BuildCommunicatorFromRoster(*membership.group, *std::move(endpoint), options,
                                                Deadline::After(membership.timeouts.init)),
                    membership));
  return membership;
}

Result<Membership> Adopt(const Environment& environment, const config::Config& config,
                         const StartOptions& asked, const resolve::Resolution& resolution,
                         const LimitTimeouts& limit) {
  const std::string control(environment.Get("MUSTER_CONTROL").value_or(""));
  const std::string group_id(environment.Get("MUSTER_GROUP").value_or(""));
  std::unique_ptr<socket::SocketEndpoint> endpoint;
  if (!asked.group_only) {
    MUSTER_TRY(endpoint,
               socket::SocketEndpoint::Open({.tcp = true, .bases = SharedDirectories(environment)}));
  }
  const auto began = Clock::now();
  MUSTER_TRY(rendezvous::AdoptedGroup adopted,
             rendezvous::AdoptGroup(control, group_id, resolution.tuple.rank, environment.process()->uid,
                                    config.liveness, Deadline::After(config.timeouts.init)));
  MUSTER_TRY(const config::EffectiveConfig effective,
             config::LoadConfigText(adopted.configuration, "the configuration of muster run"));
  SetUpLog(effective.config.log);
  SetLogTime(effective.config.log_time, effective.config.log);
  for (const std::string& warning : effective.warnings) LogDebug("{}", warning);
  Membership membership;
  membership.timeouts = Limited(effective.config.timeouts, limit, environment);
  membership.formed_in = Clock::now() - began;
  membership.group = std::move(adopted.group);
  membership.group->activity().set_straggler_after(effective.config.liveness.straggler_after);
  if (asked.group_only) return membership;
  const DataOptions options = DataOptionsOf(environment, effective.config, asked, membership);
  // The configuration is only read here; the time until it arrived counts too.
  const Duration left = std::max(Duration::zero(), membership.timeouts.init - membership.formed_in);
  MUSTER_CHECK(Take(BuildCommunicator(*membership.group, std::move(endpoint), options, Deadline::After(left)),
                    membership));
  return membership;
}

}  // namespace

Result<Membership> EnterGroup(const Environment& environment, const config::Config& config,
                              const StartOptions& asked, const resolve::Resolution& resolution,
                              const LimitTimeouts& limit) {
  if (resolution.tuple.world_size == 1) {
    Membership membership;
    membership.timeouts = Limited(config.timeouts, limit, environment);
    membership.group =
        rendezvous::MakeGroupOfOne(resolution.tuple.node.value_or(environment.process()->host_name));
    if (asked.group_only) return membership;
    const DataOptions options = DataOptionsOf(environment, config, asked, membership);
    MUSTER_CHECK(
        Take(BuildCommunicatorOfOne(*membership.group, options, Deadline::After(membership.timeouts.init)),
             membership));
    return membership;
  }
  if (resolve::HasRole(resolution.tuple.launcher, resolve::LauncherRole::kSupervisor))
    return Adopt(environment, config, asked, resolution, limit);
  return Form(environment, config, asked, resolution, limit);
}

}  // namespace muster::join
