// Prints the names under which the ranks of this step will meet on this node, for a test that must be there
// first: the name of the leader's socket, then the ports in the order in which they are tried.
#include <unistd.h>

#include <cstdio>

#include "bootstrap/join/startup.h"
#include "comm/rendezvous/link/names.h"

namespace muster {
namespace {

Status PrintNames() {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, {}));
  const auto resolution = join::ResolveLaunch(environment, effective.config, {});
  if (!resolution) return Fail(resolution.error().error);
  MUSTER_TRY(const rendezvous::JoinRequest request,
             join::MakeJoinRequest(environment, effective.config, {}, *resolution));
  const Meeting& meeting = request.meeting;
  fmt::print("{}\n", rendezvous::LocalSocketName(meeting.LocalKey(), request.self.node));
  for (const uint16_t port :
       rendezvous::PortLadder(meeting.key, request.options.ports, meeting.ports_of_others)) {
    fmt::print("{}\n", port);
  }
  return {};
}

}  // namespace
}  // namespace muster

int main() {
  const muster::Status printed = muster::PrintNames();
  if (printed) return 0;
  fmt::print(stderr, "meeting_names: {}\n", muster::ToString(printed.error()));
  return muster::ExitStatus(printed.error().code);
}
