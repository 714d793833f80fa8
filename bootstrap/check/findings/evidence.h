// All evidence of a check, the same on every rank; input of judge.h and of the reports. A value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/check/findings/facts.h"
#include "bootstrap/check/findings/gpu_facts.h"
#include "bootstrap/check/findings/links.h"
#include "bootstrap/check/findings/trials.h"
#include "comm/base/deadline.h"
#include "comm/roster.h"

namespace muster::check {

struct WrongOnRank {
  int rank = 0;
  WrongResult result;
};

struct Evidence {
  std::string launcher;  // "slurm"
  std::string job;       // "slurm:4.0:0"
  Roster roster;
  bool interface_set = false;  // rendezvous.interface
  Duration formed_in{};        // of rank 0
  Duration took{};             // the check, after that

  std::vector<RankFacts> ranks;  // by rank
  std::vector<NodeFacts> nodes;  // by node
  std::vector<GpuFacts> gpus;    // by rank; empty: no rank has a GPU in use

  bool bandwidth = true;         // was to be measured
  std::vector<NodeLinks> links;  // by node; empty: there is one node only
  std::vector<NodeLinks> again;  // the second measurement; empty: nothing was slow in the first

  std::vector<std::string> trials;  // their names; empty: not run, because some nodes cannot connect
  std::vector<WrongOnRank> wrong;
  std::optional<Error> broken;  // why they ended early
};

}  // namespace muster::check
