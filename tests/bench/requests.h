// The requests of simulated ranks of the benchmarks; no launcher and no configuration is needed.
#pragma once

#include <string>

#include "comm/rendezvous/join/join_request.h"

namespace muster::bench {

struct Launch {
  std::string key;  // the same for all ranks, of no other launch
  int world_size = 0;
  uint16_t port = 0;  // of the root, on 127.0.0.1; 0: all ranks are on one node
  AuthMethod auth = AuthMethod::kNone;
  std::optional<auth::JobSecret> secret;
};

// Rank `rank`, alone on a node of its own, or if the launch has no port one of all those of one node.
rendezvous::JoinRequest MakeRequest(const Launch& launch, int rank);

// Of loopback, and free; ends the process if there is none.
uint16_t FreePort();

}  // namespace muster::bench
