// The group under check: formed by these processes, adopted from `muster run`, or a world of one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/join/startup.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/init/init.h"

namespace muster::check {

struct CheckSession {
  std::string launcher;
  std::string job;          // the name of this launch for users; empty if it has none
  TimeoutOptions timeouts;  // a collective has a minute at most
  Duration formed_in{};
  std::unique_ptr<Group> group;
  std::unique_ptr<Communicator> communicator;  // goes before the group
  std::vector<nccl::GpuHello> gpus;            // by rank; empty if no rank had a reason to search
};

// BLOCKS as muster::Init does. Error: as muster::Init.
Result<CheckSession> OpenCheckSession(const Environment& environment,
                                      const config::EffectiveConfig& effective,
                                      const join::StartOptions& asked, const resolve::Resolution& resolution);

// Leaves the group; waits for at most timeouts.shutdown.
Status CloseCheckSession(CheckSession& session);

}  // namespace muster::check
