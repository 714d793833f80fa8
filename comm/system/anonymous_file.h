// A file without a name for memory that processes share: it goes when the last of them does.
//
// memfd_create(2). Where a container forbids that call: a file in /dev/shm or /tmp that never has a name, or
// loses it before anything is written.
#pragma once

#include <cstddef>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

// Of that size, all zero, within reach of this user alone. A memfd is sealed: no process can cut it off
// under a reader. Another file has all its bytes allocated, so that a full file system is an error here and
// no SIGBUS later. Error: kSystem.
Result<UniqueFd> MakeAnonymousFile(size_t bytes);

// Whether a descriptor that came along is such a file of that size, of this user where it is no memfd.
bool IsAnonymousFile(int fd, size_t bytes);

}  // namespace muster
