// Threads that no signal interrupts: the process's signals are for its own threads. The limits on threads and processes: of the
// user (ulimit -u) and of the process's cgroups (pids.max).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "comm/base/error.h"

namespace muster {

// Runs `work` on a new thread. Error: kSystem, "cannot start WHAT: ...", with the limit that is to be raised; `work` was not run.
Result<std::thread> StartThread(std::string_view what, std::function<void()> work);

// The same on a thread that may be abandoned: for calls into libraries and the system without a
// deadline.
Status StartDetachedThread(std::function<void()> work);

// The remedy for a failure of fork(2) or pthread_create(3) with EAGAIN, with the value of each limit: of a cgroup that is full,
// else of those that this process has.
std::string ProcessLimitHint();

// The same in these cgroups: `memberships` as in /proc/self/cgroup, `mount` as /sys/fs/cgroup, v1 and v2.
std::string ProcessLimitHint(std::string_view memberships, const std::string& mount);

}  // namespace muster
