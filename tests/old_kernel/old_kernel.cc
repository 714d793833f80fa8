// Runs a command as if on a kernel that lacks newer system calls. See --help.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/old_kernel/call_filter.h"

namespace {

constexpr int kUsage = 64;
constexpr int kSystem = 71;

void PrintHelp() {
  fmt::print(
      "Run a command without the system calls that are newer than Linux 4.18.\n"
      "\n"
      "  old_kernel enosys|eperm COMMAND [ARG...]\n"
      "\n"
      "enosys: the calls answer ENOSYS, as an older kernel does (RHEL 8 has 4.18).\n"
      "eperm:  the calls answer EPERM, as the seccomp filter of an older container runtime does.\n"
      "\n"
      "Refused: every call that was added after 4.18 (clone3, close_range, epoll_pwait2, faccessat2,\n"
      "openat2, pidfd_getfd, pidfd_open, pidfd_send_signal, ...), and these older ones:\n"
      "{}.\n"
      "waitid(P_PIDFD) answers EINVAL; with eperm, O_TMPFILE answers EOPNOTSUPP, as an older overlayfs.\n"
      "\n"
      "Never EPERM, because the C library does not survive it; these answer ENOSYS in both profiles:\n",
      muster::OlderCalls());
  for (const muster::NeverForbiddenCall& call : muster::NeverForbidden()) {
    fmt::print("  {}: {}\n", call.name, call.reason);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    PrintHelp();
    return 0;
  }
  const std::string_view profile = argc < 3 ? "" : argv[1];
  if (profile != "enosys" && profile != "eperm") {
    fmt::print(stderr, "usage: old_kernel enosys|eperm COMMAND [ARG...]; old_kernel --help\n");
    return kUsage;
  }
  const auto missing = profile == "eperm" ? muster::Missing::kForbidden : muster::Missing::kUnknown;
  if (const int error = muster::RemoveNewCalls(missing); error != 0) {
    fmt::print(stderr, "old_kernel: cannot install the seccomp filter: {}\n", std::strerror(error));
    return kSystem;
  }
  execvp(argv[2], argv + 2);
  fmt::print(stderr, "old_kernel: cannot start {}: {}\n", argv[2], std::strerror(errno));
  return errno == ENOENT ? 127 : 126;
}
