// The end of the group for bindings of other languages, which end their own communicators and maps first.
#pragma once

#include <algorithm>
#include <chrono>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster {

struct ShutdownLimits {
  explicit ShutdownLimits(Duration limit)
      : whole(Deadline::After(limit)),
        calls(Deadline::After(std::min<Duration>(std::chrono::seconds(5), limit / 2))) {}

  Deadline whole;
  Deadline calls;  // those of other threads have returned; later than this they are left alone
};

// As Shutdown() of bootstrap.h, within `limits`, of timeouts.shutdown. `ended`: no call of another thread is in progress.
// Else what such a call may use is kept until this process ends.
Status Shutdown(const ShutdownLimits& limits, bool ended);

}  // namespace muster
