// What the faults of a scenario can do to each of its launches: which failures are true.
#pragma once

#include <set>
#include <vector>

#include "tests/simulation/scenario/scenario.h"

namespace muster::simulation {

struct Damage {
  std::set<int> guilty;         // ranks that a failure may name
  std::set<int> nodes;          // of those that were killed
  std::set<int> silent;         // nodes whose connections may be silent, and stay open
  std::set<int> cut;            // of these, an end of a cut link
  std::set<int> stopped;        // first ranks of processes that stood still, until their peers gave them up
  int causes = 0;               // of failures
  bool root_retires = false;    // before a map of the other ranks, which fails
  bool outsiders = false;       // processes that the root turns away: they name the root
  bool whole = true;            // the network, and no process stood still
  bool may_fail = false;        // beside the causes: what was not whole lasted long enough
  bool follows_damage = false;  // may lack predecessors, or follow one that ended in the middle
  Duration standstill{};        // of all its processes
};

// By launch.
std::vector<Damage> DamagesOf(const Scenario& scenario);

}  // namespace muster::simulation
