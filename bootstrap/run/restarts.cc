#include "bootstrap/run/restarts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/log/log.h"

namespace muster::run {

void CountRestarts(int restarts, int most, rendezvous::JoinRequest& request) {
  rendezvous::Agreement& agreement = request.self.agreement;
  agreement.configuration += fmt::format("max-restarts={}\n", most);
  if (restarts == 0) return;
  const std::string suffix = fmt::format(" again={}", restarts);
  request.meeting.key += suffix;
  request.meeting.job_key += suffix;
  agreement.job_key = request.meeting.job_key;
  agreement.restart += restarts;
}

namespace {

// Beyond run.grace, which the other ranks may need before the next rendezvous.
constexpr Duration kOthersComeWithin = std::chrono::seconds(10);

// Ranks that received no request to end start again, and would wait for this one until their deadline.
Status ReportToRestartedGroup(SupervisorPlan plan, const Error& failure) {
  const bool alone =
      !plan.join || std::cmp_equal(plan.join->self.claims.size(), plan.join->self.agreement.world_size);
  if (alone) return {};
  plan.join->self.refused = failure;
  plan.join->timeouts.rendezvous =
      std::min(plan.join->timeouts.rendezvous, plan.config.run.grace + kOthersComeWithin);
  MUSTER_TRY([[maybe_unused]] const int status, Supervisor(std::move(plan)).Run());
  return {};
}

}  // namespace

Result<int> RunWithRestarts(int most, const std::function<Result<SupervisorPlan>(int restarts)>& plan) {
  const auto files_before = std::make_shared<std::optional<FileStates>>();
  for (int restarts = 0;; ++restarts) {
    MUSTER_TRY(SupervisorPlan next, plan(restarts));
    next.files_before = files_before;
    next.restarts = restarts;
    next.max_restarts = most;
    if (restarts > 0) next.began = Clock::now();
    Supervisor supervisor(std::move(next));
    MUSTER_TRY(const int status, supervisor.Run());
    const RunVerdict& verdict = supervisor.verdict();
    if (restarts == most || !verdict.MayStartAgain()) return status;
    // The group's failure does not name this request: other supervisors start again, and would wait.
    if (const auto failure = EndAsRequested(verdict.place(), verdict.request(), Clock::now())) {
      MUSTER_TRY(SupervisorPlan following, plan(restarts + 1));
      MUSTER_CHECK(ReportToRestartedGroup(std::move(following), *failure));
      return status;
    }
    // Once in the log, not once for every rank.
    if (verdict.place().is_root) {
      LogEvent(LogLevel::kWarning, "restart", {{"restart", restarts + 1}, {"most", most}},
               "starting again: restart {} of {}", restarts + 1, most);
    }
  }
}

}  // namespace muster::run
