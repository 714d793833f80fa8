// The signals that come to a supervisor, and the end of its lifeline: the effect of each while the group forms, while
// programs start, run and have ended. Keeps those for programs that do not run yet.
//
// Lives on one EventLoop and owns the SignalRelay. Blocks only while Ctrl-Z stops this process.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "bootstrap/process/signals.h"
#include "bootstrap/run/program_ender.h"
#include "bootstrap/run/programs.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"

namespace muster::run {

class RunSignals {
 public:
  struct Events {
    // A request to end, before there is a group or a program.
    std::function<void(int number)> on_interrupted;
    // Steps that follow, perhaps none; then the next that is due.
    std::function<void(const RunSteps&)> on_steps;
  };

  // While it takes signals, all outlive it. Uses up `plan.signals`.
  RunSignals(net::EventLoop& loop, SupervisorPlan& plan, RunVerdict& verdict, Programs& programs,
             ProgramEnder& ender, std::unique_ptr<process::SignalRelay> relay, Events events);
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  // From now on the loop takes them. Error: kSystem.
  Status Watch();
  void Take(const process::SignalEvent& event);
  // Once there is a status. False: no request to end.
  bool TakeAtEnd(const process::SignalEvent& event);
  // While programs are about to start, they are to receive each signal that is no request to end.
  void HoldForPrograms(bool holds) { holds_ = holds; }
  void PassOnKept();

  process::SignalRelay& relay() { return *relay_; }
  const std::set<int>& kept() const { return kept_; }

 private:
  void OnChildren();
  void OnStop(const process::SignalEvent& event);

  net::EventLoop& loop_;
  const int lifeline_;
  RunVerdict& verdict_;
  Programs& programs_;
  ProgramEnder& ender_;
  const std::unique_ptr<process::SignalRelay> relay_;
  const Events events_;
  std::set<int> kept_;
  bool holds_ = false;
};

}  // namespace muster::run
