// The common part of `muster run` and `muster once`: from the command line to the plan of this process's
// supervisor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/cli/flags.h"
#include "bootstrap/run/supervisor.h"

namespace muster::cli {

struct Supervised {
  std::vector<std::string> command;           // after --
  std::optional<std::string> ranks_per_node;  // --nproc-per-node; absent: this process is one rank
  int max_restarts = 0;
  bool dry_run = false;
  bool json = false;  // with dry_run
  run::WhoRuns who = run::WhoRuns::kEveryRank;
};

// Resolves, joins the group and runs the program: the exit status. BLOCKS until all is over. Error: before
// anything was started.
Result<int> RunSupervised(const SharedFlags& flags, const Supervised& asked_to_run);

// A warning if the one rank of a command was perhaps not meant: no launcher, no allocation, but srun in PATH. `in_job`
// is behind srun, `launched` behind muster launch -n N.
void WarnOfNoLauncher(const Environment& environment, const config::Config& config,
                      const resolve::Resolution& resolution, std::string_view in_job,
                      std::string_view launched);

}  // namespace muster::cli
