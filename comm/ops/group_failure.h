// Making an error of this rank the error of every rank, and finding the rank to name in it.
#pragma once

#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/ops/call.h"

namespace muster {

// Fails the group with `error` and returns the group's failure, which is another one where somebody was
// faster: so all ranks return the same sentence. BLOCKS for at most a second, and then returns `error`.
Error FailGroup(Group& group, const Error& error);

// True if the group has failed, or does within `patience`. BLOCKS for that long.
bool WaitForFailure(const Group& group, Duration patience);

// Which ranks have not come to `call`, whose deadline has passed (Group::WhoIsMissing). Empty: not known, no
// collective, or the group has failed meanwhile. A thousand ranks do not ask at once: `rank` of the communicator
// asks immediately if it is below 4, below 16 if no failure has come within 4 s, below 64 within 8 s, and so on.
// BLOCKS for that, and for about 2 s.
std::string AskWhoIsMissing(Group& group, const Call& call, int rank);

}  // namespace muster
