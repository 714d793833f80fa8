#include "comm/socket/engine/call_clock.h"

#include <fmt/core.h>

#include "comm/base/parse.h"

namespace muster::socket {

void CallClock::Begin(Duration timeout, std::optional<Deadline> deadline) {
  timeout_ = timeout;
  given_ = deadline;
}

void CallClock::Start(Deadline latest) {
  started_ = true;
  deadline_ = given_.value_or(Deadline::After(timeout_));
  capped_ = !latest.IsNever() && !latest.Expired() && latest.when() < deadline_.when();
  if (capped_) deadline_ = latest;
}

Error CallClock::DeadlineError(const Call& call, const std::string& ranks) const {
  if (capped_) {
    return {Code::kDeadline,
            fmt::format("{} did not finish before the end of the job: waiting for {}", Describe(call), ranks),
            "look at what that rank is doing; timeouts.cap_at_job_end: false waits longer, if the job's time "
            "limit was extended"};
  }
  return {Code::kDeadline,
          fmt::format("{} did not finish within {}: waiting for {}", Describe(call), FormatDuration(timeout_),
                      ranks),
          fmt::format("look at what that rank is doing, or raise timeouts.{}",
                      call.operation == Operation::kBarrier ? "barrier" : "collective")};
}

}  // namespace muster::socket
