// The standard streams of a supervisor's programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/output/console.h"
#include "bootstrap/output/output_losses.h"
#include "bootstrap/output/stdin_copy.h"
#include "bootstrap/run/program/rank_program.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/roster.h"

namespace muster::run {

// The standard input of a supervisor's programs (run.stdin).
class InputPlan {
 public:
  // `programs`: how many this process starts.
  InputPlan(net::EventLoop& loop, config::RunStdin input, int programs);

  // For ChildOptions::stdin_end, open until the program has started; empty: our own. Error: kSystem.
  Result<UniqueFd> For(int rank);
  // All programs were started.
  void Start();
  void Ended(int rank);

 private:
  const config::RunStdin input_;  // never kAuto
  std::unique_ptr<output::StdinCopy> copy_;
};

// The destination of the programs' output. Their standard error goes through us; with run.label and run.log_dir
// standard output as well.
class OutputPlan {
 public:
  // `on_idle` is called when all output has been written. `incarnation`: restarts so far.
  OutputPlan(net::EventLoop& loop, const config::RunOptions& options, int incarnation,
             std::function<void()> on_idle);

  // Opens the files of run.log_dir for these ranks, by a thread. `then` follows once, within a minute: a file system
  // that does not answer must not stop heartbeats. Immediately if there is no run.log_dir.
  void OpenFiles(const Roster& roster, const std::vector<int>& ranks, std::function<void()> then);
  // After OpenFiles. Error: kSystem or kDeadline, a log file.
  Result<CapturedOutput> For(const Roster& roster, int rank);
  // Everything that programs wrote is written.
  bool idle() const;
  // Output that is not yet written is lost for this reason.
  void GiveUp(const std::string& reason);
  const output::OutputLosses& losses() const { return losses_; }

 private:
  std::string NameOfFile(const Roster& roster, int rank, std::string_view stream) const;
  // One by one, until one cannot be opened.
  void OpenNext();
  void Opened();
  std::unique_ptr<output::Console> Open(output::OutputKind kind, std::string name, UniqueFd fd);
  Result<output::Console*> OpenFile(const Roster& roster, int rank, std::string_view stream);
  std::vector<output::Console*> All() const;

  net::EventLoop& loop_;
  const bool label_;
  const std::optional<std::string> directory_;
  const int incarnation_;
  const std::function<void()> on_idle_;
  output::OutputLosses losses_;
  net::ThreadWorker files_;  // its thread starts when a file is opened, or first written
  std::queue<std::string> unopened_;
  std::map<std::string, Result<UniqueFd>> opened_;
  net::Timer opened_late_;
  std::function<void()> on_opened_;
  std::unique_ptr<output::Console> out_;  // null: the programs have our standard output itself
  std::unique_ptr<output::Console> err_;
  std::vector<std::unique_ptr<output::Console>> log_files_;
};

}  // namespace muster::run
