// Threads that may be left behind: for calls into libraries and the system that have no deadline of their
// own.
#pragma once

#include <functional>

namespace muster {

// Runs `work` on a new thread that nobody waits for and that no signal interrupts: the process's signals are
// for its own threads. False where the system has no thread to give: `work` was not run.
bool StartDetachedThread(std::function<void()> work);

}  // namespace muster
