// One rank's program as its supervisor keeps it: the process, its output on the way to ours, and how it ended.
//
// Lives on one EventLoop. Killed with its process group when the object goes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bootstrap/output/console.h"
#include "bootstrap/output/program_output.h"
#include "bootstrap/process/child.h"
#include "comm/net/event_loop.h"

namespace muster::run {

// The destinations of the program's output. They outlive it.
struct CapturedOutput {
  output::Console* out;  // null: its standard output is ours itself
  output::Console& err;
  std::optional<std::string> label;
  output::Console* out_file = nullptr;
  output::Console* err_file = nullptr;
};

class RankProgram {
 public:
  static tl::expected<std::unique_ptr<RankProgram>, process::StartFailure> Start(
      net::EventLoop& loop, int rank, process::ChildOptions options, CapturedOutput output);
  RankProgram(const RankProgram&) = delete;
  RankProgram& operator=(const RankProgram&) = delete;

  int rank() const { return rank_; }
  pid_t pid() const { return child_->pid(); }
  // Looks (after SIGCHLD) whether it has exited; true the first time it has. Its last output is then in its
  // destinations, and may still wait there for their readers. Processes that it left behind may write on.
  bool NoticeExit();
  // After SIGCHLD as well: logs, once, that it is stopped because it used the terminal.
  void NoticeTerminalStop(const std::string& node);
  // SIGKILL has not ended it: it counts as killed from now on, and is left behind.
  void GiveUp();
  const std::optional<process::ChildExit>& exit() const { return exit_; }
  // Noticed or not.
  bool HasExited() const { return exit_ || child_->Exited(); }
  // Its output that is in its pipes.
  void TakeRest();
  // Output that is still in its pipes is lost.
  void StopReading();
  void Signal(int number);
  std::string TailOfStderr() const { return err_->Tail(); }

 private:
  RankProgram(net::EventLoop& loop, int rank, std::unique_ptr<process::Child> child, CapturedOutput output);
  void OnExit(process::ChildExit exit);

  int rank_;
  std::unique_ptr<process::Child> child_;
  std::unique_ptr<output::ProgramOutput> out_;  // null: its standard output is ours itself
  std::unique_ptr<output::ProgramOutput> err_;
  std::optional<process::ChildExit> exit_;
  bool waits_for_terminal_ = false;
};

}  // namespace muster::run
