// The processes that send a hello in the tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/rendezvous/messages/messages.h"
#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {

inline Agreement AgreementOf(int world_size) {
  Agreement agreement;
  agreement.world_size = world_size;
  agreement.launcher = "slurm";
  agreement.job_key = "slurm:4.0:0";
  agreement.backend = "socket";
  return agreement;
}

// One process with one rank; pid 1000 + rank.
inline ProcessInfo PartyOf(int rank, std::string node, int world_size, int local_rank = -1,
                           int local_size = -1) {
  return {std::move(node), 1000 + rank, AgreementOf(world_size), {{rank, local_rank, local_size, {}}}};
}

inline Hello HelloOf(std::vector<ProcessInfo> members, std::vector<std::string> addresses = {}) {
  return {std::move(addresses), std::move(members)};
}

}  // namespace muster::rendezvous
