#include "bootstrap/check/session.h"

#include <algorithm>
#include <utility>

#include "bootstrap/join/membership.h"

namespace muster::check {
namespace {

// A check is short: the deadlines configured for hours of work do not bound a few bytes.
constexpr Duration kSoon = std::chrono::minutes(1);

TimeoutOptions ForCheck(TimeoutOptions timeouts) {
  for (Duration* timeout : {&timeouts.collective, &timeouts.barrier}) *timeout = std::min(*timeout, kSoon);
  return timeouts;
}

}  // namespace

Result<CheckSession> OpenCheckSession(const Environment& environment,
                                      const config::EffectiveConfig& effective,
                                      const join::StartOptions& asked,
                                      const resolve::Resolution& resolution) {
  MUSTER_TRY(join::Membership membership,
             join::EnterGroup(environment, effective.config, asked, resolution, ForCheck));
  CheckSession session;
  session.launcher = resolution.tuple.launcher;
  session.job = resolution.tuple.job.key;
  session.timeouts = membership.timeouts;
  session.formed_in = membership.formed_in;
  session.group = std::move(membership.group);
  session.communicator = std::move(membership.communicator);
  session.gpus = std::move(membership.gpus);
  return session;
}

Status CloseCheckSession(CheckSession& session) {
  session.communicator.reset();
  return session.group->Leave(Deadline::After(session.timeouts.shutdown));
}

}  // namespace muster::check
