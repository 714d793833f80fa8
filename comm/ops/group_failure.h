// Making an error of this rank the error of every rank.
#pragma once

#include "comm/base/error.h"
#include "comm/group/group.h"

namespace muster {

// Fails the group with `error` and returns the group's failure, which is another one where somebody was
// faster: so all ranks return the same sentence. BLOCKS for at most a second, and then returns `error`.
Error FailGroup(Group& group, const Error& error);

}  // namespace muster
