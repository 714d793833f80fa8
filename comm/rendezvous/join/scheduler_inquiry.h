// One question to the scheduler, asked off the loop when some time has passed, unless it is destroyed before.
//
// Lives on one EventLoop. A call that hangs is left behind.
#pragma once

#include <functional>
#include <memory>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join/scheduler.h"

namespace muster::rendezvous {

class SchedulerInquiry {
 public:
  // Only where something was learned; what went wrong is a line in the log. May destroy the inquiry.
  using OnFacts = std::function<void(const SchedulerFacts&)>;

  // Asks nothing where `scheduler` is null or the question is empty.
  SchedulerInquiry(net::EventLoop& loop, std::shared_ptr<const Scheduler> scheduler,
                   SchedulerQuestion question, Duration after, OnFacts on_facts);
  SchedulerInquiry(const SchedulerInquiry&) = delete;
  SchedulerInquiry& operator=(const SchedulerInquiry&) = delete;
  ~SchedulerInquiry();

 private:
  void Ask();
  void OnAnswer(const Result<SchedulerFacts>& answer);

  net::EventLoop& loop_;
  std::shared_ptr<const Scheduler> scheduler_;
  SchedulerQuestion question_;
  OnFacts on_facts_;
  net::ThreadWorker worker_;
  net::EventLoop::TimerId timer_ = 0;
};

// How long an answer may take.
inline constexpr Duration kSchedulerPatience = std::chrono::seconds(5);

// For the log: nobody who has not installed it wants to hear that it is not there.
void LogSchedulerProblem(const Error& error);

}  // namespace muster::rendezvous
