// Reports a failure of this process or of its programs to the group, unless a map goes on without the rank. A program that
// closes its connections first has a moment to exit: its status shows more.
//
// Lives on one EventLoop; nothing blocks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "bootstrap/run/programs.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"
#include "comm/rendezvous/control/control_plane.h"

namespace muster::run {

class OwnFailureReporter {
 public:
  struct Events {
    // Without a group: the run has failed.
    std::function<void(const rendezvous::Failure&)> on_failure;
    // A rank is excused: steps that follow, perhaps none; then the next that is due.
    std::function<void(const RunSteps&)> on_steps;
  };

  // All outlive its use of the loop.
  OwnFailureReporter(net::EventLoop& loop, RunVerdict& verdict, const Programs& programs, Events events)
      : loop_(loop), verdict_(verdict), programs_(programs), events_(std::move(events)) {}
  OwnFailureReporter(const OwnFailureReporter&) = delete;
  OwnFailureReporter& operator=(const OwnFailureReporter&) = delete;

  // The group has formed.
  void Connect(rendezvous::ControlPlane& plane) { plane_ = &plane; }
  void Report(const rendezvous::Failure& failure);
  // RunStep::kReport, kReportSoon, kAwaitLost.
  void ReportProgram();
  void ReportProgramSoon();
  void AwaitLost();
  // The program closed its connections without leaving the group. `process`: the one that was connected; 0: not known.
  void Lose(int rank, pid_t process);
  // The last map has ended: programs that have exited by now belong to it, although their end may be noticed later.
  void EndMaps();

 private:
  void AwaitExitStatus(int rank);
  bool IsTolerated(const rendezvous::Failure& failure) const;

  net::EventLoop& loop_;
  RunVerdict& verdict_;
  const Programs& programs_;
  const Events events_;
  rendezvous::ControlPlane* plane_ = nullptr;  // null: a world of one, or not formed
  std::set<int> ended_in_map_;
  std::map<int, pid_t> lost_processes_;  // by rank
};

}  // namespace muster::run
