// A process that was suspended: `scontrol suspend`, gang scheduling, a debugger. No deadline counts that time.
#pragma once

#include "comm/base/deadline.h"

namespace muster {

// For how long a process was suspended that was to wake up at `due` and is back at `now`. Zero: a busy machine
// accounts for it.
inline Duration SuspendedFor(Clock::time_point due, Clock::time_point now) {
  constexpr Duration kBusy = std::chrono::seconds(2);
  return now - due < kBusy ? Duration::zero() : now - due;
}

}  // namespace muster
