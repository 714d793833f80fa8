#include "bootstrap/check/session.h"

#include <algorithm>
#include <utility>

#include "bootstrap/config/load.h"
#include "comm/init.h"
#include "comm/rendezvous/join.h"

namespace muster {
namespace {

// Whoever checks wants to know soon: what is configured for the work of hours does not bound a few bytes.
constexpr Duration kSoon = std::chrono::minutes(1);

TimeoutOptions ForCheck(TimeoutOptions timeouts) {
  for (Duration* timeout : {&timeouts.collective, &timeouts.barrier}) *timeout = std::min(*timeout, kSoon);
  return timeouts;
}

Status Adopt(const Environment& environment, const Config& config, const Resolution& resolution,
             CheckSession& session) {
  const std::string control(environment.Get("MUSTER_CONTROL").value_or(""));
  const std::string group_id(environment.Get("MUSTER_GROUP").value_or(""));
  MUSTER_TRY(AdoptedGroup adopted,
             AdoptGroup(control, group_id, resolution.tuple.rank, environment.process()->uid, config.liveness,
                        Deadline::After(config.timeouts.init)));
  MUSTER_TRY(const EffectiveConfig effective,
             LoadConfigText(adopted.configuration, "the configuration of muster run"));
  session.timeouts = ForCheck(effective.config.timeouts);
  session.group = std::move(adopted.group);
  return {};
}

Status Form(const Environment& environment, const Config& config, const Asked& asked,
            const Resolution& resolution, CheckSession& session) {
  if (resolution.tuple.launcher == "muster") return Adopt(environment, config, resolution, session);
  MUSTER_TRY(JoinRequest request, MakeJoinRequest(environment, config, asked, resolution, {}));
  MUSTER_TRY(session.group, JoinGroup(std::move(request)));
  return {};
}

}  // namespace

Result<CheckSession> OpenCheckSession(const Environment& environment, const EffectiveConfig& effective,
                                      const Asked& asked, const Resolution& resolution) {
  const Config& config = effective.config;
  CheckSession session;
  session.launcher = resolution.tuple.launcher;
  session.job = resolution.tuple.job.key;
  session.timeouts = ForCheck(config.timeouts);
  if (resolution.tuple.world_size == 1) {
    session.group = MakeGroupOfOne(resolution.tuple.node.value_or(environment.process()->host_name));
    session.communicator = BuildCommunicatorOfOne(*session.group);
    return session;
  }
  const auto began = Clock::now();
  MUSTER_TRY(auto endpoint, SocketEndpoint::Open());
  MUSTER_CHECK(Form(environment, config, asked, resolution, session));
  session.formed_in = Clock::now() - began;
  MUSTER_TRY(session.communicator, BuildCommunicator(*session.group, std::move(endpoint), session.timeouts));
  return session;
}

Status CloseCheckSession(CheckSession& session) {
  session.communicator.reset();
  return session.group->Leave(Deadline::After(session.timeouts.shutdown));
}

}  // namespace muster
