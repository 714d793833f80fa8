// The output of `muster status`. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/roster.h"

namespace muster::status {

// For users: a few lines for any number of ranks.
std::string StatusText(const rendezvous::GroupStatus& status);
// For programs: one line, an object with all groups (docs/pages/reference/schemas).
std::string StatusJson(const std::vector<rendezvous::GroupStatus>& groups,
                       std::chrono::system_clock::time_point time);

// In this job (empty: in none) without the groups of other jobs, if it has groups of its own. A group of muster launch does
// not name its job.
void KeepJob(std::vector<rendezvous::GroupStatus>& groups, std::string_view slurm_job);

// Ranks whose stacks are most useful: those that other ranks wait for; if no rank waits, those that are in no
// operation. At most `most`, ascending.
std::vector<int> RanksToLookAt(const rendezvous::GroupStatus& status, size_t most);

// Node names and the ranks of each node, as much of a roster as a status has.
Roster RosterOf(const rendezvous::GroupStatus& status);

}  // namespace muster::status
