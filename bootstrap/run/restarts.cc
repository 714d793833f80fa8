#include "bootstrap/run/restarts.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "comm/log/log.h"

namespace muster::run {
namespace {

// Beyond run.grace, which the other ranks may need before the next rendezvous.
constexpr Duration kOthersComeWithin = std::chrono::seconds(10);

void NumberGroup(int restarts, rendezvous::JoinRequest& request) {
  if (restarts == 0) return;
  const std::string suffix = fmt::format(" again={}", restarts);
  request.meeting.key += suffix;
  request.meeting.job_key += suffix;
  rendezvous::Agreement& agreement = request.self.agreement;
  agreement.job_key = request.meeting.job_key;
  agreement.restart += restarts;
}

bool IsAlone(const SupervisorPlan& plan) {
  return !plan.join || std::cmp_equal(plan.join->self.claims.size(), plan.join->self.agreement.world_size);
}

// Ranks that start again would wait for this one until their deadline. `first`: the plan of the first group. The
// status of `failure`, which is logged once for all.
Result<int> ReportToRestartedGroup(const SupervisorPlan& first, int restarts, const Error& failure) {
  SupervisorPlan plan = first;
  plan.store.reset();
  plan.restarts = restarts;
  plan.began = Clock::now();
  NumberGroup(restarts, *plan.join);
  plan.join->self.refused = failure;
  plan.join->timeouts.rendezvous = plan.config.run.grace + kOthersComeWithin;
  return Supervisor(std::move(plan)).Run();
}

Error RefusalOf(const SupervisorPlan& plan, const Error& error) {
  const std::string rank = DescribeRank(plan.join->self.claims.front().rank, plan.join->self.node);
  return {error.code, fmt::format("{} was refused: {}", rank, error.message), error.hint};
}

}  // namespace

void CountRestarts(int restarts, int most, rendezvous::JoinRequest& request) {
  request.self.agreement.configuration += fmt::format("max-restarts={}\n", most);
  NumberGroup(restarts, request);
}

Result<int> RunWithRestarts(int most, const std::function<Result<SupervisorPlan>(int restarts)>& plan) {
  const auto files_before = std::make_shared<std::optional<FileStates>>();
  std::optional<SupervisorPlan> first;
  std::set<int> signals;  // for the programs of the next attempt
  for (int restarts = 0;; ++restarts) {
    Result<SupervisorPlan> next = plan(restarts);
    if (!next && first && !IsAlone(*first))
      return ReportToRestartedGroup(*first, restarts, RefusalOf(*first, next.error()));
    if (!next) return tl::unexpected<Error>(std::move(next).error());
    next->files_before = files_before;
    next->restarts = restarts;
    next->max_restarts = most;
    next->signals = std::exchange(signals, {});
    if (restarts > 0) {
      next->began = Clock::now();
      // The programs of other ranks may still be ending.
      if (next->join) next->join->timeouts.rendezvous += next->config.run.grace + kOthersComeWithin;
    }
    if (!first) first = *next;
    Supervisor supervisor(*std::move(next));
    MUSTER_TRY(const int status, supervisor.Run());
    signals = supervisor.kept_signals();
    const RunVerdict& verdict = supervisor.verdict();
    if (restarts == most || !MayStartAgain(verdict.failure())) return status;
    // The group's failure does not name this request: other supervisors start again, and would wait.
    if (const auto failure = EndAsRequested(verdict.place(), verdict.request(), Clock::now())) {
      if (!IsAlone(*first)) MUSTER_CHECK(ReportToRestartedGroup(*first, restarts + 1, *failure));
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
