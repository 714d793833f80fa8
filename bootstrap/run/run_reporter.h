// The messages about a run as a whole: that its group has formed or not, the failure, the end; and the file of
// run.report.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/process/signals.h"
#include "bootstrap/report/run_recorder.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::run {

class RunReporter {
 public:
  // Both outlive it.
  RunReporter(const SupervisorPlan& plan, RunVerdict& verdict);

  report::RunRecorder& recorder() { return recorder_; }
  // `arrivals`: the root's; null in other processes, and in a world of one. The root also examines the path of
  // run.report, by a thread: its file system may not answer.
  void Formed(net::EventLoop& loop, const rendezvous::Arrivals* arrivals, bool is_root);
  void NotFormed(const rendezvous::Failure& failure, const rendezvous::Joiner& joiner);
  // By a signal; without a joiner no group was to form.
  void Interrupted(int signal, const rendezvous::Joiner* joiner);
  // `received`: another process sent the failure, and logs it. `maps`: as they are now; the root has them.
  void Failed(const rendezvous::Failure& failure, bool received, const std::vector<map::MapState>& maps);
  // OutputLosses::failure. False: none. Other supervisors do not receive it.
  bool NoteLoss(const std::string& failure);
  // The run is over. `has_left`, `maps`: RunRecorder::Finish.
  void Conclude(const std::function<bool(int)>& has_left, std::vector<map::MapState> maps);
  // After Conclude: the file of run.report. BLOCKS until it is written, a minute at most: a file system may not answer.
  // A request to end is taken meanwhile, and leaves it a second.
  // `take`: a signal; false if it is no request to end.
  void WriteReport(process::SignalRelay& relay, const std::function<bool(const process::SignalEvent&)>& take);

 private:
  void NoteArrivals(const rendezvous::Joiner* joiner);
  void CheckReport(net::EventLoop& loop);
  void LogIfFailed(const Status& report) const;

  const SupervisorPlan& plan_;
  RunVerdict& verdict_;
  report::RunRecorder recorder_;
  std::optional<report::RunRecord> concluded_;  // the root's, if it writes a report
  std::unique_ptr<net::ThreadWorker> checker_;
};

}  // namespace muster::run
