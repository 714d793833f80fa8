// The deadline of the call at work. It counts from the call's first wait: an operation that never waits does
// not read the clock, which is a considerable part of a short one.
//
// Threads: one. Nothing here blocks.
#pragma once

#include <optional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/ops/call.h"
#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {

class CallClock {
 public:
  // `deadline`: of a call that has waited for something else before; else `timeout` from Start on.
  void Begin(Duration timeout, std::optional<Deadline> deadline);
  bool started() const { return started_; }
  // Once per call. `latest`: the deadline is no later than this, unless it has passed.
  void Start(Deadline latest);
  void Stop() { started_ = false; }
  // This process was suspended for `stall`, which counts for no call: a suspended job suspends all its ranks.
  void Postpone(Duration stall) { deadline_ = Postponed(deadline_, stall); }

  Deadline deadline() const { return deadline_; }
  // The error of a call whose deadline has passed. `ranks`: those it waits for, by name.
  Error DeadlineError(const Call& call, const std::string& ranks) const;

 private:
  Duration timeout_{};
  std::optional<Deadline> given_;
  Deadline deadline_ = Deadline::Never();
  bool started_ = false;
  bool capped_ = false;  // deadline_ is `latest`
};

}  // namespace muster::socket
