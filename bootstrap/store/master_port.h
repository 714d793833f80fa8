// What claims carry for the store: MASTER_PORT, which rank 0's supervisor chooses before the group forms, and
// the addresses of each node, which the first process of the node adds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/store/store_port.h"
#include "comm/base/error.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/roster.h"

namespace muster::store {

// Chooses the port for who stands for rank 0, and writes it into rank 0's claim. A node's first process adds
// the addresses of its machine. `request` is otherwise complete. `endpoint`: where the group meets, if that
// was said. `only_this_node`: surely all ranks are here. Gives where muster serves the store; null: it does
// not (run.store: program). Error: kSystem.
Result<std::shared_ptr<StorePort>> ChooseMasterPort(const config::Config& config,
                                                    const std::optional<Endpoint>& endpoint,
                                                    bool only_this_node, rendezvous::JoinRequest& request);

// Those that the claim of `member` carries; none where it carries none, or is malformed.
std::vector<std::string> AddressesInClaim(const Roster::Member& member);

// What rank 0 chose.
uint16_t MasterPortOf(const Roster& roster);

}  // namespace muster::store
