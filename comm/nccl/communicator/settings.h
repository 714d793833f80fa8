// Start, supervision and end of a communicator of NCCL. A value.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::nccl {

// The process cannot continue: logs the error and ends the process immediately with the error's exit status
// (69). No cleanup runs, since NCCL's threads hang in the GPU's driver.
[[noreturn]] void EndProcess(const Error& error);

struct NcclSettings {
  int device = 0;             // in the visible list
  std::string gpu;            // its UUID, for messages
  bool share_device = false;  // two ranks of a node may use one GPU
  TimeoutOptions timeouts;    // init, collective, shutdown
  // Time limit of an abort; NCCL has been observed never to return from it.
  Duration abort_within = std::chrono::seconds(10);
  // Time limit for the control plane to name the cause of an error of NCCL's own.
  Duration cause_grace = std::chrono::seconds(1);
  // The time after its deadline in which an operation must end: the watchdog enforces it.
  Duration watchdog_grace = std::chrono::seconds(30);
  // Interval of the error checks of idle communicators.
  Duration watch_every = std::chrono::milliseconds(100);
  // Called if an abort does not return; for tests.
  std::function<void(const Error&)> end_process = EndProcess;
};

}  // namespace muster::nccl
