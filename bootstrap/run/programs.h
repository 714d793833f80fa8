// The programs of one supervisor, each with the environment and the streams of its rank, from their start to
// their end.
//
// Lives on one EventLoop. Programs that still run are killed when the object goes, all together.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/report/run_recorder.h"
#include "bootstrap/run/program/oom_watch.h"
#include "bootstrap/run/program/program_environment.h"
#include "bootstrap/run/program/rank_program.h"
#include "bootstrap/run/program/stream_plan.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "bootstrap/store/store_users.h"

namespace muster::run {

rendezvous::FormedGroup GroupOfOne(const std::string& node);
// The address at which rank 0's node is reached.
std::string MasterHost(const Roster& roster, int rank);
// The environment of the program of `rank`. `control`: the supervisor's socket, or empty.
Variables VariablesFor(const SupervisorPlan& plan, const Roster& roster, int rank,
                       const std::string& control);

class Programs {
 public:
  using OnEnded = std::function<void(const EndedProgram&)>;

  // `plan` and `recorder` outlive it. `on_idle`: all output has been written.
  Programs(net::EventLoop& loop, const SupervisorPlan& plan, report::RunRecorder& recorder,
           std::function<void()> on_idle, OnEnded on_ended);
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() { Signal(SIGKILL); }

  // Opens the files of those of `own_ranks` that have a program (OutputPlan). `then` follows once.
  void OpenFiles(const Roster& roster, std::vector<int> own_ranks, std::function<void()> then);
  // After OpenFiles: those of `own_ranks` that have one. `control`: the supervisor's socket, or empty. The failure of the first
  // program that cannot be started; those after it are not started.
  std::optional<rendezvous::Failure> Start(const rendezvous::FormedGroup& group, std::vector<int> own_ranks,
                                           const std::string& control);
  // The run ends: if Start has not been called, those of `own_ranks` that have a program are recorded as not started.
  void NoteNotStarted(const Roster& roster, std::vector<int> own_ranks);
  // After SIGCHLD: calls `on_ended` for each that has ended.
  void NoticeExits();
  // All have ended, and processes run that they left behind. If these have ended, takes what they wrote last.
  bool HaveLeftBehind();
  // To all that run.
  void Signal(int number);
  // Those that still run after SIGKILL count as killed: calls `on_ended` for each.
  void GiveUp();
  // The run ends: what has been read is still to be written, and nothing more is read.
  void StopReading();
  // Output that is not yet written is lost for this reason.
  void GiveUpOutput(const std::string& reason) { output_.GiveUp(reason); }
  const output::OutputLosses& losses() const { return output_.losses(); }

  bool empty() const { return list_.empty(); }
  const RankProgram* Find(int rank) const;  // null: none was started
  // The process that was connected as this rank, if it is not the rank's program; 0: not known.
  std::optional<HelperProcess> HelperOf(int rank, pid_t connected) const;
  std::vector<store::RunningProgram> Running() const;
  std::vector<int> RunningRanks() const;
  std::vector<int> ExitedRanks() const;  // noticed or not
  bool all_ended() const;
  bool written() const { return output_.idle(); }

 private:
  std::optional<rendezvous::Failure> StartOne(const rendezvous::FormedGroup& group, int rank,
                                              const std::string& control);
  bool HasProgram(const Roster& roster, int rank) const;
  void Ended(const RankProgram& program);

  net::EventLoop& loop_;
  const SupervisorPlan& plan_;
  report::RunRecorder& recorder_;
  OnEnded on_ended_;
  OutputPlan output_;
  std::optional<InputPlan> input_;
  std::optional<OomWatch> memory_;  // since the start
  std::vector<std::unique_ptr<RankProgram>> list_;
};

}  // namespace muster::run
