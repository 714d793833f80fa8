// Calls that have no deadline of their own (dlopen over NFS, a driver that starts, an abort that hangs): made
// so that they can be abandoned.
#pragma once

#include <functional>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster {

// Runs `call` on its own thread, without signals, and waits for its end. `late`: it had not ended by the
// deadline, or when `stop_fd` became readable (-1: none). Then it goes on alone: so it owns everything that
// it touches, and refers to nothing of its caller. kSystem: this process can have no thread, and the call
// was not made. `stop_fd` is ignored if the process has no descriptor left.
Status RunWithin(Deadline deadline, const Error& late, std::function<void()> call, int stop_fd = -1);

// The same for a call that must be made: if no thread can be had, this one makes it, and has no deadline then.
// False: late.
bool RunAnywhereWithin(Deadline deadline, std::function<void()> call, int stop_fd = -1);

}  // namespace muster
