// The conditions between keys, once all have their values.
#pragma once

#include "bootstrap/config/config.h"
#include "comm/base/error.h"

namespace muster::config {

// liveness.heartbeat < suspect_after < dead_after; not all of rendezvous.ports below 1024, which are root's
// alone; rendezvous.protect: all needs keys, and rendezvous.auth: none makes none. All other timeouts need no
// order: each phase ends at its own, and the earlier of two wins. Error: kConfiguration, names both keys,
// their values and their origins.
Status CheckConfig(const EffectiveConfig& effective);

}  // namespace muster::config
