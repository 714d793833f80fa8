// How many files and sockets this process may have open. The usual soft limit of 1024 is there for programs
// that use select(2); a root of a thousand leaders needs more, and may have it up to the hard limit.
//
// The limit is of the whole process, and what it starts would inherit it: whoever starts a program restores
// what was there before. Threads: any.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "comm/base/error.h"

namespace muster {

// Room for so many beside the ones of everyday use. Raises the soft limit as far as is needed and allowed.
// Error: kSystem where the hard limit is too low; says what for.
Status MakeRoomForDescriptors(size_t needed, std::string_view what);

// Raises the soft limit to the hard one; the limit that holds now. Error: kSystem.
Result<uint64_t> RaiseDescriptorLimit();

// Whether a connection that was accepted as `newest` belongs to the last descriptors of this process. They are
// for its own connections, and not for strangers. The kernel gives out the lowest free number.
bool DescriptorsAreScarce(int newest);

// What was in force before the first of these changed it; absent where none did.
std::optional<rlimit> DescriptorLimitBefore();

}  // namespace muster
