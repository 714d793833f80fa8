// The request of one process that represents all ranks of a world, or all of its machine's: there is no
// launcher.
#pragma once

#include <string>

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "comm/base/error.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::join {

// Opens nothing and connects to nothing; ExpandToBlock (rank_block.h) gives it its ranks. `job`:
// JobIdentity::key.
rendezvous::JoinRequest MakeLocalJoin(const Environment& environment, const config::Config& config,
                                      std::string job);

// One such process on each of `nodes` machines, this being `node`; rank 0's listens at `endpoint`; with
// `any_port` at a port of the ladder, and the one of `endpoint` distinguishes launches. Error: kConfiguration (a malformed
// MUSTER_SECRET).
Result<rendezvous::JoinRequest> MakeJoinOfNodes(const Environment& environment, const config::Config& config,
                                                const Endpoint& endpoint, bool any_port, int node, int nodes,
                                                std::string job);

}  // namespace muster::join
