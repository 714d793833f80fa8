// The ranks of a subgroup, and its name. Pure functions, the same on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/roster.h"
#include "comm/socket/core.h"

namespace muster::socket {

struct SplitChoice {
  int color = 0;
  int key = 0;
};

// The subgroup of `parent.rank`, given what every rank of the parent chose in its operation number
// `sequence`; absent for a negative colour.
std::optional<Members> FormSubgroup(const Members& parent, const std::vector<SplitChoice>& choices,
                                    uint64_t sequence);

// The members `ranks` of a roster with nodes and local ranks renumbered; group id and payloads stay.
Roster SelectRanks(const Roster& roster, const std::vector<int>& ranks);

}  // namespace muster::socket
