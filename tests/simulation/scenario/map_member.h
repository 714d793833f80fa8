// A rank's part in the map of its launch: comm/map/member.h and the worker of `muster map`, with attempts that are simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/group/group.h"
#include "comm/map/journal/record.h"
#include "comm/map/options.h"
#include "tests/simulation/machine/process.h"
#include "tests/simulation/scenario/map_plan.h"

namespace muster::simulation {

// One attempt at an item.
struct ItemRun {
  uint64_t item = 0;
  uint32_t attempt = 0;
  Time began{};
  Time ended = kNever;
  bool failed = false;
};

struct MapOutcome {
  bool joined = false;
  Time joined_at{};
  std::vector<ItemRun> runs;
  std::optional<map::Outcome> result;
  Time over_at{};
  // Of the rank that reads the results.
  bool reads = false;
  std::vector<map::JournalRecord> records;
};

// BLOCKS until the map is over for this rank. Ends without a result after `fails_after` items; -1: never.
Status RunMap(const MapPlan& plan, Group& group, Deadline joined, int fails_after, MapOutcome& outcome);

}  // namespace muster::simulation
