// A file without a name for memory that processes share: it is freed when the last of them ends.
//
// memfd_create(2). If a container forbids that call: a file in /dev/shm or /tmp that never has a name, or
// loses it before anything is written.
#pragma once

#include <cstddef>
#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

// Of that size, all zero, within reach of this user alone. A memfd is sealed: no process can cut it off
// under a reader. Another file has all its bytes allocated, so that a full file system is an error here and
// no SIGBUS later. Error: kSystem.
Result<UniqueFd> MakeAnonymousFile(size_t bytes);

// In that directory, empty: it grows as it is written. Invalid, with errno: it cannot be made.
UniqueFd MakeUnnamedFile(const std::string& directory);

// True if a received descriptor is such a file of that size; one that is no memfd must be of this user.
bool IsAnonymousFile(int fd, size_t bytes);

}  // namespace muster
