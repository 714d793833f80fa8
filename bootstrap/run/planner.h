// From the settings of a command to the plan of this process's supervisor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/run/program/program_environment.h"
#include "bootstrap/run/supervisor_plan.h"

namespace muster::run {

// The part of a plan that follows from the configuration and this process. `given`: behind --. Error: no command; `usage` ("run",
// "launch -n N") is for its hint.
Result<SupervisorPlan> BeginPlan(const Environment& environment, const config::EffectiveConfig& effective,
                                 const std::vector<std::string>& given, std::string_view usage);

// For a program in a world of one, which has no supervisor's socket to request the configuration: --config
// becomes MUSTER_CONFIG (an absolute path), --set KEY=VALUE the key's own variable, so that muster::Init
// computes the same configuration. Not the keys of `run`, which only the supervisor uses.
void ExportSettings(const join::StartOptions& asked, Variables& variables);

// `muster run` and `muster once`.
struct Supervised {
  std::vector<std::string> command;           // after --
  std::optional<std::string> ranks_per_node;  // --nproc-per-node; absent: this process is one rank
  int max_restarts = 0;
  bool dry_run = false;
  bool json = false;  // with dry_run
  WhoRuns who = WhoRuns::kEveryRank;
};

// Resolves, joins the group and runs the program: the exit status. BLOCKS until all is over. Error: before
// anything was started.
Result<int> RunSupervised(join::StartOptions asked, const Supervised& wanted);

// A warning if the one rank of a command was perhaps not meant: no launcher, no allocation, but srun in PATH. `in_job`
// is behind srun, `launched` behind muster launch -n N.
void WarnOfNoLauncher(const Environment& environment, const config::Config& config,
                      const resolve::Resolution& resolution, std::string_view in_job,
                      std::string_view launched);

}  // namespace muster::run
