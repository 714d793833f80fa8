// The limit of files and sockets that this process may have open. The usual soft limit of 1024 is there for
// programs that use select(2); a root of a thousand leaders needs more, and may have it up to the hard limit.
//
// The limit is of the whole process, and started programs would inherit it: code that starts a program
// restores the earlier limit. Threads: any.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

// Room for `needed` descriptors beside the usual ones. Raises the soft limit as far as needed and allowed.
// Error: kSystem if the hard limit is too low, with the purpose.
Status MakeRoomForDescriptors(size_t needed, std::string_view what);

// Raises the soft limit to the hard one; the limit that holds now. Error: kSystem.
Result<uint64_t> RaiseDescriptorLimit();

// True if a connection that was accepted as `newest` uses the last descriptors of this process. These are
// reserved for its own connections, not for foreign peers. The kernel gives out the lowest free number.
bool DescriptorsAreScarce(int newest);

// The reason why no file can be opened now: an errno value; 0: one can. Opens one.
int DescriptorProblem();

// The same file with the lowest free number, for a connection for which another one was closed. If the next connection got that
// number, none would be closed for it: one by one they would take the reserved descriptors.
UniqueFd WithLowestNumber(UniqueFd fd);

// The remedy for a failure with EMFILE, which names the limit that was reached: the soft or the hard one.
std::string DescriptorLimitHint();

// The limit before the first of these calls changed it; absent without a change.
std::optional<rlimit> DescriptorLimitBefore();

}  // namespace muster
