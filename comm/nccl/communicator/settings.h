// How a communicator of NCCL is started, watched and ended. A value.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::nccl {

// The process has no way on: the error is logged, and the process ends at once with the error's exit status
// (69), running nothing more, since NCCL's threads hang in the GPU's driver.
[[noreturn]] void EndProcess(const Error& error);

struct NcclSettings {
  int device = 0;           // in the visible list
  std::string gpu;          // its UUID, for messages
  TimeoutOptions timeouts;  // init, collective, shutdown
  // How long an abort may take; NCCL has been seen never to come back from it.
  Duration abort_within = std::chrono::seconds(10);
  // How long an error of NCCL's own waits for the control plane to name the cause.
  Duration cause_grace = std::chrono::seconds(1);
  // How long after its deadline an operation may take to end: that is the watchdog's work.
  Duration watchdog_grace = std::chrono::seconds(30);
  // How often communicators are asked for errors while nothing happens.
  Duration watch_every = std::chrono::milliseconds(100);
  // What happens where an abort does not come back; for tests.
  std::function<void(const Error&)> end_process = EndProcess;
};

}  // namespace muster::nccl
