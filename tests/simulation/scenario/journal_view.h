// The journal of a map after the run, as the next run or `muster journal` would read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/map/journal/record.h"
#include "tests/simulation/machine/world.h"

namespace muster::simulation {

struct JournalView {
  struct Ended {
    map::JournalRecord record;
    std::string group;  // that wrote it
  };
  std::vector<Ended> items;
  uint64_t second_commits = 0;
  std::string problem;  // it cannot be read, or is damaged
};

// Runs the world further.
JournalView ReadJournal(World& world, const std::string& path, uid_t user);

}  // namespace muster::simulation
