#include "bootstrap/run/run_signals.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace muster::run {

RunSignals::RunSignals(net::EventLoop& loop, SupervisorPlan& plan, RunVerdict& verdict, Programs& programs,
                       ProgramEnder& ender, std::unique_ptr<process::SignalRelay> relay, Events events)
    : loop_(loop),
      lifeline_(plan.lifeline),
      verdict_(verdict),
      programs_(programs),
      ender_(ender),
      relay_(std::move(relay)),
      events_(std::move(events)),
      kept_(std::exchange(plan.signals, {})) {}

Status RunSignals::Watch() {
  MUSTER_CHECK(loop_.Watch(relay_->fd(), EPOLLIN, [this](uint32_t) {
    while (const auto event = relay_->Next()) Take(*event);
  }));
  if (lifeline_ < 0) return {};
  return loop_.Watch(lifeline_, EPOLLIN, [this](uint32_t) {
    std::array<char, 256> ignored{};
    const ssize_t got = read(lifeline_, ignored.data(), ignored.size());
    if (got > 0 || (got < 0 && errno == EAGAIN)) return;
    loop_.Forget(lifeline_);
    Take({SIGTERM, getpid(), false});
  });
}

void RunSignals::Take(const process::SignalEvent& event) {
  if (event.number == SIGCHLD) return OnChildren();
  if (event.number == SIGTSTP) return OnStop(event);
  if (verdict_.status()) return void(TakeAtEnd(event));
  const bool asks = process::AsksToEnd(event.number);
  const process::EndStep step = asks ? ender_.Request(event) : process::EndStep::kPassOn;
  const bool next_programs = process::IsForPrograms(event.number) && programs_.all_ended();
  if (next_programs || (holds_ && (!asks || event.number == SIGQUIT)))
    return void(kept_.insert(event.number));
  if (!verdict_.in_group() && programs_.empty()) return asks ? events_.on_interrupted(event.number) : void();
  if (!asks || !programs_.all_ended()) return ender_.Take(step, &event);
  events_.on_steps(verdict_.SignalledAfterPrograms(event.number, Clock::now()));
}

bool RunSignals::TakeAtEnd(const process::SignalEvent& event) {
  if (process::IsForPrograms(event.number)) kept_.insert(event.number);
  return verdict_.SignalledAtEnd({event.number, event.sender, event.from_kernel}, Clock::now());
}

void RunSignals::PassOnKept() {
  for (const int number : std::exchange(kept_, {})) programs_.Signal(number);
}

void RunSignals::OnChildren() {
  programs_.NoticeExits();
  if (verdict_.awaits_left_behind()) events_.on_steps({});
}

// Ctrl-Z reaches the foreground group alone, and programs have groups of their own. SIGCONT is passed on as any signal.
void RunSignals::OnStop(const process::SignalEvent& event) {
  if (event.from_kernel) programs_.Signal(event.number);
  if (!relay_->Stop() && event.from_kernel) programs_.Signal(SIGCONT);
}

}  // namespace muster::run
