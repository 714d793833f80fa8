// Resolution -> Meeting: how the ranks of this launch find each other, worked out the same on every rank.
#pragma once

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "comm/base/error.h"
#include "comm/meeting.h"
#include "comm/options.h"

namespace muster::join {

// `explicit_endpoint`: --endpoint; wins over options.endpoint. Meeting::key may be long: hash it before
// naming a socket. Pure. Error: kConfiguration where nothing says where rank 0 is, or what
// rendezvous.method needs is not there; kUsage for a program under `muster run`, which adopts its
// supervisor's group instead of meeting anybody.
Result<Meeting> PlanMeeting(const resolve::Resolution& resolution, const Environment& environment,
                            const RendezvousOptions& options,
                            const std::optional<Endpoint>& explicit_endpoint = std::nullopt,
                            const resolve::LauncherTable& launchers = resolve::Launchers());

}  // namespace muster::join
