// All that a check has found out, the same on every rank; what judge.h and the reports work from. A value.
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
  Duration formed_in{};  // of rank 0
  Duration took{};       // what came after

  std::vector<RankFacts> ranks;  // by rank
  std::vector<NodeFacts> nodes;  // by node
  std::vector<GpuFacts> gpus;    // by rank; empty: no rank has a GPU in use

  bool bandwidth = true;         // was to be measured
  std::vector<NodeLinks> links;  // by node; empty: there is one node only
  std::vector<NodeLinks> again;  // the second look; empty: nothing had looked slow

  std::vector<std::string> trials;  // their names; empty: not run, because some nodes cannot connect
  std::vector<WrongOnRank> wrong;
  std::optional<Error> broken;  // what ended them before they were through
};

}  // namespace muster::check
