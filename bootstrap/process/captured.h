// A short program that muster runs for its output: started, read and ended under a deadline.
#pragma once

#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::process {

struct CaptureRequest {
  std::string name;                      // for messages
  std::vector<std::string> candidates;   // files to try in order
  std::vector<std::string> arguments;    // without the program's own name
  std::vector<std::string> environment;  // NAME=VALUE
  size_t longest = 0;                    // more output is refused
};

// Its standard output, once it has ended with 0. BLOCKS until then, at most until the deadline: then it and
// all that it has started are killed. It ends with the calling thread.
//
// Errors: kConfiguration if there is no such program; kDeadline; kSystem for any other end, with the last
// line of its standard error.
Result<std::string> Capture(const CaptureRequest& request, Deadline deadline);

struct ToolOutput {
  bool started = false;
  bool in_time = false;
  bool exited = false;  // by itself: no signal ended it
  std::string output;
};
// The same of a tool that may hold another process: its output includes standard error, more than `longest` is
// dropped, and at the deadline it gets SIGTERM, then SIGKILL after `grace`.
ToolOutput CaptureTool(const CaptureRequest& request, Duration grace, Deadline deadline);

}  // namespace muster::process
