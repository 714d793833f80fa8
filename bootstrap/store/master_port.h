// The store's part of a claim: MASTER_PORT, which rank 0's supervisor chooses before the group forms, and the
// addresses of each node, which the first process of the node adds.
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

// Chooses the port in the process of rank 0, and writes it into rank 0's claim. A node's first process adds
// the addresses of its machine. `request` is otherwise complete. `endpoint`: the group's, if given.
// `only_this_node`: all ranks are certainly here. Returns the held port for muster's store; null: muster
// serves none (run.store: program). Error: kSystem.
Result<std::shared_ptr<StorePort>> ChooseMasterPort(const config::Config& config,
                                                    const std::optional<Endpoint>& endpoint,
                                                    bool only_this_node, rendezvous::JoinRequest& request);

// Those in the claim of `member`; none if it carries none, or is malformed.
std::vector<std::string> AddressesInClaim(const Roster::Member& member);

// Rank 0's choice.
uint16_t MasterPortOf(const Roster& roster);

}  // namespace muster::store
