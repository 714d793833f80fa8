// `muster launch --hosts FILE`, the side that starts the machines.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/cli/flags.h"
#include "bootstrap/environment/environment.h"

namespace muster::cli {

// The flags of `muster launch`.
struct LaunchFlags {
  std::string ranks;  // of each machine; empty: not given
  int nodes = 1;
  int node = -1;
  int max_restarts = 0;
  bool any_port = false;
  bool until_stdin_closes = false;
  bool dry_run = false;
  bool json = false;      // with dry_run
  std::string host_file;  // empty: this machine alone starts
  std::string ssh = "ssh -o BatchMode=yes";
  std::vector<std::string> command;
};

// Of a group of several machines. Error: a loopback address, at which each of them would wait for itself.
Status CheckReachedByOthers(const Endpoint& endpoint);

// BLOCKS until all machines' ranks have ended; their exit status. Error: before anything was started.
Result<int> LaunchOnHosts(const Environment& environment, const join::StartOptions& asked,
                          const config::EffectiveConfig& effective, const LaunchFlags& launch);

}  // namespace muster::cli
