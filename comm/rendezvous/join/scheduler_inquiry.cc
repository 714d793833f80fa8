#include "comm/rendezvous/join/scheduler_inquiry.h"

#include "comm/log/log.h"

namespace muster::rendezvous {

SchedulerInquiry::SchedulerInquiry(net::EventLoop& loop, std::shared_ptr<const Scheduler> scheduler,
                                   SchedulerQuestion question, Duration after, OnFacts on_facts,
                                   std::vector<Duration> again)
    : loop_(loop),
      scheduler_(std::move(scheduler)),
      question_(std::move(question)),
      on_facts_(std::move(on_facts)),
      again_(std::move(again)),
      worker_(loop.mailbox()) {
  if (scheduler_ && !question_.empty()) timer_ = loop_.After(after, [this] { Ask(); });
}

void SchedulerInquiry::Ask() {
  const auto answer = std::make_shared<Result<SchedulerFacts>>();
  worker_.Run(
      [answer, scheduler = scheduler_, question = question_] {
        *answer = scheduler->Ask(question, Deadline::After(kSchedulerPatience));
      },
      [this, answer] { OnAnswer(*answer); });
}

void SchedulerInquiry::OnAnswer(const Result<SchedulerFacts>& answer) {
  if (!answer) {
    LogSchedulerProblem(answer.error());
    // There is no scheduler to query.
    if (again_.empty() || answer.error().code == Code::kConfiguration) return;
    timer_ = loop_.After(again_.front(), [this] { Ask(); });
    again_.erase(again_.begin());
    return;
  }
  const OnFacts on_facts = on_facts_;
  on_facts(*answer);
}

void LogSchedulerProblem(const Error& error) {
  const LogLevel level = error.code == Code::kConfiguration ? LogLevel::kDebug : LogLevel::kInfo;
  LogEvent(level, "scheduler", {}, "{}; continuing without its answer", error.message);
}

}  // namespace muster::rendezvous
