// What must hold between keys, once all have their values.
#pragma once

#include "bootstrap/config/config.h"
#include "comm/base/error.h"

namespace muster::config {

// liveness.heartbeat < suspect_after < dead_after; not all of rendezvous.ports below 1024, where only root
// may listen; rendezvous.protect: all needs the keys that rendezvous.auth: none does not make. The other
// time-outs need no order: each phase ends at its own, and the earlier of two wins. Error: kConfiguration,
// names both keys, their values and where these came from.
Status CheckConfig(const EffectiveConfig& effective);

}  // namespace muster::config
