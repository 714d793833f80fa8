// Opening a file for writing in a directory that other users may have prepared.
//
// The rule. "Own" means: owned by this process's user or root.
//
// 1. Links. The final component of a path and its directory may be symbolic links, also chains of them, if
//    each link is own. A link of another user is refused, never followed. Further up, a link may also be one
//    that the owner of its directory has put there: it is that owner's and not every user may write the directory,
//    or its owner alone may. The caller trusts the owner of a directory that it names, but not all members of
//    its group. That owner may be any user if the directory is in one like /tmp: it can lead the caller to
//    another directory of the caller's, but to no other file name there.
// 2. Directories. One that every user may write is refused unless it has the sticky bit, as /tmp has it. A
//    directory that a group may write is accepted: a project's members trust each other with plain files.
// 3. Files. A regular file is accepted unless another user owns it and every user may write it or its
//    directory. A file with several names (hard links) is refused in a directory that every user may write.
// 4. FIFOs, terminals and other character devices must be own. A FIFO that no process reads is an error.
//    Directories, sockets and block devices are refused.
// 5. /dev/stderr, /dev/fd/N, /proc/self/fd/N, and so `>(command)`, are descriptors that this process was
//    given: they are opened without a check of their targets.
//
// Owners unknown to the kernel. In a user namespace that does not map every uid (rootless containers)
// the owner of other files is the overflow uid, 65534: root or any user. On some file systems (NFS with
// root_squash or all_squash, sshfs) this process's own files have another owner. An owner is not mistaken for
// another user
// - if it is an unmapped uid and the directory is not writable by every user: its writers are trusted;
// - if a file that this process creates in that directory gets the same owner (tried only before a refusal).
//
// No race: each object is opened first, without following and without waiting, then checked by its
// descriptor.
#pragma once

#include <sys/types.h>

#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

// Open for appending, close-on-exec; created with mode 0666 and the umask if absent. Never waits: O_NONBLOCK
// stays set, so a write to a FIFO or terminal that takes nothing fails with EAGAIN; it has no effect on
// regular files. Error: kSystem, "PATH: reason".
Result<UniqueFd> OpenForWriting(const std::string& path);

// The final place of a file, for a caller that replaces it by another one (rename).
struct WritingPlace {
  UniqueFd directory;
  std::string name;
  // False if it exists and is no regular file (a FIFO, /dev/stderr): it cannot be replaced, only opened.
  bool replaceable = true;
};
// As OpenForWriting, without opening or creating. Error: kSystem, "PATH: reason".
Result<WritingPlace> FindForWriting(const std::string& path);

// A directory whose entries are used by their paths later. Its owner may replace them, the sticky bit or not.
// It must therefore be own if every user may write it or its parent. A parent that every user may write needs
// the sticky bit: otherwise another directory could come in its place. Rule 1 applies; the caller checks its
// mode (rule 2). Opened with O_PATH; empty: it is absent. Error: kSystem, "PATH: reason".
Result<UniqueFd> FindDirectoryForWriting(const std::string& path);

// Makes a directory with its parents, except those in the target of a link: it may still be absent. Rule 1
// applies. Never writable by every user, under any umask. Error: kSystem, "PATH: reason"; `error_number`: errno,
// if the kernel did not make one.
Status MakeDirectories(const std::string& path, int* error_number = nullptr);

// The facts that "The rule" needs, as values; for tests.
struct WritingOwner {
  uid_t own = 0;
  uid_t unmapped = 65534;
  bool all_mapped = true;  // every uid of the system has a number in this user namespace
};
// Of this process.
WritingOwner OwnerHere();
enum class Ownership { kOwn, kUnknown, kOther };
Ownership OwnershipOf(uid_t uid, const WritingOwner& here);

}  // namespace muster
