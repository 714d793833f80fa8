// `muster run` and `muster launch`: forms the group, runs this process's ranks in it, passes signals on, and ends
// all ranks after the first failure, which is every supervisor's exit status. No orphan is left behind. A
// failing rank's supervisor does not end before every other one has received the failure.
//
// Only the root logs it, immediately in one line and at the end in one block (summary.h), and writes run.report.
// If the root is lost, a few other processes log the failure.
//
// Connects the parts: RunVerdict decides, Programs and ProgramEnder act on the programs, RunSignals takes signals,
// OwnFailureReporter sends failures to the group, ProgramServices serves the programs, RunReporter logs, LastOutput waits
// for the readers. Single-threaded on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string_view>

#include "bootstrap/run/last_output.h"
#include "bootstrap/run/own_failure_reporter.h"
#include "bootstrap/run/program/expected_files.h"
#include "bootstrap/run/program_ender.h"
#include "bootstrap/run/program_services.h"
#include "bootstrap/run/programs.h"
#include "bootstrap/run/run_reporter.h"
#include "bootstrap/run/run_signals.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::run {

class Supervisor {
 public:
  explicit Supervisor(SupervisorPlan plan);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // The exit status of `muster run`. BLOCKS until all is over. Error: before anything was started.
  Result<int> Run();

  // After Run.
  const RunVerdict& verdict() const { return verdict_; }
  // USR1 and USR2 that came when no program ran.
  const std::set<int>& kept_signals() const { return signals_->kept(); }

 private:
  void Join();
  void StartJoiner();
  void OnNotFormed(const rendezvous::Failure& failure);
  void OnJoined(rendezvous::Joined joined);
  std::function<void()> Noted(bool EndFacts::*fact);
  rendezvous::ControlPlane::Events EventsOfGroup();
  void StartPrograms();
  void OpenFiles();
  void Do(RunStep step);
  void Do(const RunSteps& steps) {
    for (const RunStep step : steps) Do(step);
  }
  // Then the next step that is due.
  void Advance(const RunSteps& steps) {
    Do(steps);
    CheckDone();
  }
  void CheckDone() {
    const bool left_behind = verdict_.MayAwaitLeftBehind() && programs_->HaveLeftBehind();
    Do(verdict_.Next(programs_->all_ended(), programs_->written(), left_behind));
  }
  void ContributeNothingTo(std::string_view exchange);
  void CheckFiles();
  void OnFailure(const rendezvous::Failure& failure);
  void NoteNotStarted();
  void OnInterrupted(int signal);

  SupervisorPlan plan_;
  RunVerdict verdict_;
  RunReporter reporter_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<RunSignals> signals_;
  std::unique_ptr<rendezvous::Joiner> joiner_;
  std::unique_ptr<rendezvous::ControlPlane> plane_;
  std::unique_ptr<ProgramServices> services_;  // in a group
  std::unique_ptr<ExpectedFiles> expected_;    // run.expect
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<ProgramEnder> ender_;
  std::unique_ptr<LastOutput> output_;
  std::unique_ptr<OwnFailureReporter> failures_;
};

}  // namespace muster::run
