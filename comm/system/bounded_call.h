// Calls that have no deadline of their own (dlopen over NFS, a driver that starts, an abort that hangs): made
// where they can be left behind.
#pragma once

#include <functional>

#include "comm/base/deadline.h"

namespace muster {

// Runs `call` on a thread of its own, without signals, and waits for its end. False: it had not ended by the
// deadline, or when `stop_fd` became readable (-1: none; or no thread could be had), and goes on alone: so it
// owns all that it touches, and refers to nothing of its caller. `stop_fd` is not looked at where the process
// has no descriptor left.
bool RunWithin(Deadline deadline, std::function<void()> call, int stop_fd = -1);

}  // namespace muster
