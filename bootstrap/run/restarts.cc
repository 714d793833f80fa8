#include "bootstrap/run/restarts.h"

#include <utility>

#include "comm/base/log.h"

namespace muster {

void CountRestarts(int restarts, int most, JoinRequest& request) {
  Agreement& agreement = request.self.agreement;
  agreement.configuration += fmt::format("max-restarts={}\n", most);
  if (restarts == 0) return;
  const std::string suffix = fmt::format(" again={}", restarts);
  request.meeting.key += suffix;
  request.meeting.job_key += suffix;
  agreement.job_key = request.meeting.job_key;
  agreement.restart += restarts;
}

Result<int> RunWithRestarts(int most, const std::function<Result<SupervisorPlan>(int restarts)>& plan) {
  for (int restarts = 0;; ++restarts) {
    MUSTER_TRY(SupervisorPlan next, plan(restarts));
    next.restarts = restarts;
    next.max_restarts = most;
    if (restarts > 0) next.began = Clock::now();
    Supervisor supervisor(std::move(next));
    MUSTER_TRY(const int status, supervisor.Run());
    if (restarts == most || !supervisor.MayStartAgain()) return status;
    // Once in the log, not once for every rank.
    if (supervisor.IsRoot()) {
      LogEvent(LogLevel::kWarning, "restart", {{"restart", restarts + 1}, {"most", most}},
               "starting again: restart {} of {}", restarts + 1, most);
    }
  }
}

}  // namespace muster
