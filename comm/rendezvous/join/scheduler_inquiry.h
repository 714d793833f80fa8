// One query to the scheduler, sent off the loop after a delay, unless it is destroyed before. A failed one may be repeated.
//
// Runs on one EventLoop. A call that hangs is abandoned.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join/scheduler.h"

namespace muster::rendezvous {

class SchedulerInquiry {
 public:
  // Called only with new facts; errors are logged. May destroy the inquiry.
  using OnFacts = std::function<void(const SchedulerFacts&)>;

  // Sends no query if `scheduler` is null or the question is empty. `again`: the pauses after failed queries.
  SchedulerInquiry(net::EventLoop& loop, std::shared_ptr<const Scheduler> scheduler,
                   SchedulerQuestion question, Duration after, OnFacts on_facts,
                   std::vector<Duration> again = {});
  SchedulerInquiry(const SchedulerInquiry&) = delete;
  SchedulerInquiry& operator=(const SchedulerInquiry&) = delete;

 private:
  void Ask();
  void OnAnswer(const Result<SchedulerFacts>& answer);

  net::EventLoop& loop_;
  std::shared_ptr<const Scheduler> scheduler_;
  SchedulerQuestion question_;
  OnFacts on_facts_;
  std::vector<Duration> again_;
  net::ThreadWorker worker_;
  net::Timer timer_;
};

// Time limit of an answer.
inline constexpr Duration kSchedulerPatience = std::chrono::seconds(5);

// At debug level if the scheduler's commands are not installed (kConfiguration).
void LogSchedulerProblem(const Error& error);

}  // namespace muster::rendezvous
