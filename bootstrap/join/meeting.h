// Resolution -> Meeting: how the ranks of this launch find each other, worked out the same on every rank.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "comm/base/error.h"
#include "comm/meeting.h"
#include "comm/options.h"

namespace muster::join {

// `explicit_endpoint`: --endpoint; wins over options.endpoint. Meeting::key may be long: hash it before
// naming a socket. Pure. Error: kConfiguration if rank 0's address is not given, or rendezvous.method needs
// something that is absent; kUsage for a program under `muster run`, which adopts its supervisor's group
// instead.
Result<Meeting> PlanMeeting(const resolve::Resolution& resolution, const Environment& environment,
                            const RendezvousOptions& options,
                            const std::optional<Endpoint>& explicit_endpoint = std::nullopt,
                            const resolve::LauncherTable& launchers = resolve::Launchers());

// Ports that other software of the same job binds by a fixed rule, and that muster therefore avoids: for the
// group's root, for the store, and for the program's own store. Of a Slurm job: that of JAX's coordinator,
// which process 0 binds on the job's first node. Pure, and the same on every rank. Empty if the id is no
// number.
//
// Source: jax/_src/clusters/slurm_cluster.py, get_coordinator_address: job_id % 2**12 + (65535 - 2**12 + 1).
std::vector<uint16_t> PortsOfOthers(std::string_view slurm_job_id);

}  // namespace muster::join
