// Threads that no signal interrupts: the process's signals are for its own threads.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

#include "comm/base/error.h"

namespace muster {

// Runs `work` on a new thread. Error: kSystem, "cannot start WHAT: ..."; `work` was not run.
Result<std::thread> StartThread(std::string_view what, std::function<void()> work);

// The same on a thread that may be abandoned: for calls into libraries and the system without a
// deadline. False if the system has no thread to give.
bool StartDetachedThread(std::function<void()> work);

}  // namespace muster
