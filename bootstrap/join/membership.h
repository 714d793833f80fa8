// How a process comes to its group and to what its ranks talk over. Used by muster::Init and `muster check`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bootstrap/join/startup.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/init/init.h"
#include "comm/options.h"

namespace muster::join {

struct Membership {
  TimeoutOptions timeouts;  // as the caller limits them, and none beyond the job's end
  Duration formed_in{};     // how long the group took to form; 0 for a world of one
  std::unique_ptr<Group> group;
  std::unique_ptr<Communicator> communicator;  // goes before the group
  std::vector<nccl::GpuHello> gpus;            // by rank; empty if no rank had a reason to search
};

using LimitTimeouts = std::function<TimeoutOptions(const TimeoutOptions&)>;

// By `resolution`: a world of one, which opens nothing; the group of the `muster run` above, with its
// configuration (timeouts, log); else the group that these processes form. A process whose request to join
// cannot be made reports to all ranks (ReportStartFailure). BLOCKS for at most timeouts.rendezvous + timeouts.init.
// `limit` gets the timeouts of the configuration in force; null: they are unchanged. Error: as muster::Init.
Result<Membership> EnterGroup(const Environment& environment, const config::Config& config,
                              const StartOptions& asked, const resolve::Resolution& resolution,
                              const LimitTimeouts& limit = {});

}  // namespace muster::join
