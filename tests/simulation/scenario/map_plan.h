// The map of a launch (comm/map): its items, how long each takes, and which of them fail.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/deadline.h"
#include "comm/map/options.h"

namespace muster::simulation {

struct Scenario;

struct MapPlan {
  bool planned = false;
  uint64_t seed = 0;
  uint64_t items = 0;
  int slots = 1;  // of each rank
  int retries = 2;
  Duration mean{};       // of an item
  double flaky = 0;      // probability that an item fails at its first attempt
  double broken = 0;     // that it fails at each
  Duration timeout{};    // of an item, which then fails at each attempt; zero: none
  Duration time_left{};  // until the end of the job, from its beginning on; zero: unknown
  bool classified = false;
  std::string journal;  // ""; in memory
  // The root takes no part: it leaves the group, within this time, when the other ranks begin the map. Zero: it takes part.
  Duration root_leaves_within{};

  std::string KeyOf(uint64_t item) const;
  std::string ResultOf(uint64_t item) const;
  // Of one attempt, in whole milliseconds: without the limit, and with it.
  Duration WorkOf(uint64_t item) const;
  Duration DurationOf(uint64_t item) const;
  bool IsTooLong(uint64_t item) const;
  bool Fails(uint64_t item, uint32_t attempt) const;
  // Attempts that fail without a fault.
  uint32_t FailuresOf(uint64_t item) const;
  // Of all items, with the attempts that fail.
  Duration Work() const;
  Duration Longest() const;
  // On one rank of all, each attempt repeated; with the time for the journal.
  Duration LongestTime() const;
  map::Options MakeOptions() const;
};

// In a third of the scenarios of programs that use the library, with a process for each rank. Four in ten are started again, with the
// journal of the first.
void PlanMaps(Scenario& scenario);
std::string Describe(const MapPlan& map);

}  // namespace muster::simulation
