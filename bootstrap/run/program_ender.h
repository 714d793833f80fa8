// The end of a supervisor's programs: the steps that follow a signal (../process/end_request.h), and SIGTERM and
// SIGKILL after a failure of the group. Also of those that a lost supervisor of this node leaves.
//
// Lives on one EventLoop.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/process/signals.h"
#include "bootstrap/report/run_recorder.h"
#include "bootstrap/run/programs.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"
#include "comm/net/process_watch.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/messages/survey_messages.h"

namespace muster::run {

// Of a process that still runs after SIGKILL.
struct Held {
  std::string reason;
  std::string remedy;
};
// `process`: absent if /proc hides it. `may_signal`: this user may signal it. Pure.
Held DescribeHeld(const std::optional<rendezvous::ProcessState>& process, bool may_signal);

class ProgramEnder {
 public:
  // All outlive it.
  ProgramEnder(net::EventLoop& loop, const SupervisorPlan& plan, RunVerdict& verdict, Programs& programs,
               report::RunRecorder& recorder)
      : loop_(loop), plan_(plan), verdict_(verdict), programs_(programs), recorder_(recorder) {}

  // The plane reports which ranks of other nodes run.
  void Connect(rendezvous::ControlPlane& plane) { plane_ = &plane; }
  // A signal that requests an end changes the request. The step is for Take if a program runs.
  process::EndStep Request(const process::SignalEvent& event);
  // `event`: absent when run.grace is over.
  void Take(process::EndStep step, const process::SignalEvent* event);
  // The group has failed: RestEnds.
  void EndRest();
  // The group has failed: if it has lost a supervisor whose orphans are for this process (LostSupervisor), they end with it.
  void EndOrphans();
  // The run ends. BLOCKS 100 ms at most: the connections of a supervisor close a moment before it counts as ended.
  void EndLastOrphans();

 private:
  void EndAll();
  void Kill();
  void PassOn(const process::SignalEvent& event);
  void Send(int number, std::string_view because);
  void ReportWaiting();
  void KillOrphans();
  std::string NameRanks(const std::vector<int>& ranks) const;

  net::EventLoop& loop_;
  const SupervisorPlan& plan_;
  RunVerdict& verdict_;
  Programs& programs_;
  report::RunRecorder& recorder_;
  rendezvous::ControlPlane* plane_ = nullptr;  // null: a world of one
  net::Timer rest_timer_;
  std::optional<net::Timer> kill_timer_;  // since the rest is being ended
  net::Timer request_timer_;
  net::Timer held_timer_;
  std::unique_ptr<net::ProcessWatch> lost_supervisor_;  // until it has ended
  int awaited_ = 0;                                     // the request's wait that the timer belongs to
};

}  // namespace muster::run
