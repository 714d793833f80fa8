// A kernel that lacks newer system calls: a seccomp filter for this process and everything it starts.
#pragma once

#include <string>
#include <vector>

namespace muster {

enum class Missing {
  kUnknown,    // ENOSYS, as Linux 4.18 (RHEL 8) answers
  kForbidden,  // EPERM, as the seccomp filter of an older container runtime answers
};

// Every system call that Linux has added since 4.18 (all numbers from 424 on), and these older ones that
// containers forbid: memfd_create, statx, process_vm_readv, process_vm_writev, copy_file_range, preadv2 and
// pwritev2. waitid(P_PIDFD) answers EINVAL. With kForbidden the calls of NeverForbidden answer ENOSYS, and O_TMPFILE
// answers EOPNOTSUPP, as in an older overlayfs.
//
// Returns 0 or errno. It cannot be undone.
int RemoveNewCalls(Missing missing);

// Calls with which the C library itself, before any line of the program, takes EPERM for the answer.
struct NeverForbiddenCall {
  const char* name;
  long number;
  const char* reason;
};
const std::vector<NeverForbiddenCall>& NeverForbidden();

// The names of the calls below 424 that are refused.
std::string OlderCalls();

}  // namespace muster
