// Making an error of this rank the error of every rank, and finding the rank to name in it.
#pragma once

#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/ops/call.h"

namespace muster {

// Fails the group with `error` and returns the group's failure, which is another one if another rank was
// faster: so all ranks return the same sentence. BLOCKS for at most a second, and then returns `error`.
Error FailGroup(Group& group, const Error& error);

// True if the group has failed, or does within `patience`. BLOCKS for that long.
bool WaitForFailure(const Group& group, Duration patience);

// The ranks missing in `call`, whose deadline has passed (Group::MissingRanks). Empty: not known, no
// collective, or the group has failed meanwhile. To limit load, the queries are spread: `rank` of the
// communicator sends one immediately if it is below 4. If no failure has come within 4 s, ranks below 16 send
// one; within 8 s, ranks below 64, and so on. BLOCKS for that, and for about 2 s.
std::string AskForMissingRanks(Group& group, const Call& call, int rank);

}  // namespace muster
