// Pipes, and descriptors for programs that muster starts.
#pragma once

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Both ends block, are closed by exec and lie above the standard descriptors. Error: kSystem.
Result<Pipe> MakePipe();

// A description of our own, with O_NONBLOCK, for `fd`, an end of a pipe; `access`: O_RDONLY or O_WRONLY. Poll is not
// enough for a pipe of several processes: another one may take the bytes or the room that it has announced. Processes
// that share the description of `fd` do not expect O_NONBLOCK. Invalid without permission, or without /proc.
UniqueFd ReopenPipe(int fd, int access);
// The same for writing, if `fd` is a pipe or a pseudo-terminal: a screen that is not read may take less than it has announced.
// Invalid for all else.
UniqueFd ReopenForWriting(int fd);

// The descriptor, or a copy of it above the standard descriptors. One of these would take the place of a
// standard descriptor that was closed when muster, or the program that uses it, started: output and logs would
// go there, a program would inherit it, and dup2 of a descriptor to itself would leave it close-on-exec.
// Invalid if there is no copy, with the reason in errno. No system call if it is above already.
UniqueFd AboveStandard(UniqueFd fd);
inline UniqueFd AboveStandard(int fd) { return AboveStandard(UniqueFd(fd)); }

}  // namespace muster
