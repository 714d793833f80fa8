// MASTER_PORT: chosen by rank 0's supervisor before the group forms, carried to the others in its claim.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bootstrap/config/config.h"
#include "bootstrap/run/store_port.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/roster.h"

namespace muster {

struct MasterPort {
  Bytes payload;                     // of rank 0's claim
  std::shared_ptr<StorePort> store;  // where muster serves the store (run.store: muster)
};

// `endpoint`: where the group meets, if that was said. `only_this_node`: surely all ranks are here. Error:
// kSystem.
Result<MasterPort> ChooseMasterPort(const Config& config, const std::optional<Endpoint>& endpoint,
                                    bool only_this_node);

// What rank 0 chose.
uint16_t MasterPortOf(const Roster& roster);

}  // namespace muster
