// One rank's program as its supervisor keeps it: the process, its standard error on the way to ours, and how
// it ended.
//
// Lives on one EventLoop. Killed with its process group when the object goes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/output/console.h"
#include "bootstrap/output/program_output.h"
#include "bootstrap/output/stderr_tail.h"
#include "bootstrap/process/child.h"
#include "comm/net/event_loop.h"

namespace muster::run {

// The destination of the program's output if it goes through us (ChildOptions::pipe_stdout).
struct CapturedOutput {
  output::Console& out;
  output::Console& err;
  std::optional<std::string> label;
  UniqueFd out_file;
  UniqueFd err_file;
};

class RankProgram {
 public:
  // Without `captured`, the program's standard output is ours itself.
  static tl::expected<std::unique_ptr<RankProgram>, process::StartFailure> Start(
      net::EventLoop& loop, int rank, const process::ChildOptions& options,
      std::optional<CapturedOutput> captured);
  RankProgram(const RankProgram&) = delete;
  RankProgram& operator=(const RankProgram&) = delete;
  ~RankProgram();

  int rank() const { return rank_; }
  pid_t pid() const { return child_->pid(); }
  // Looks (after SIGCHLD) whether it has exited; true the first time it has. `ended` is called when its last
  // output has been passed on, half a second later at the latest: a reader of ours that has stopped must not
  // hold up the report of a failure. Possibly before this returns.
  bool NoticeExit(std::function<void()> ended);
  const std::optional<process::ChildExit>& exit() const { return exit_; }
  // Noticed or not.
  bool HasExited() const { return exit_ || child_->Exited(); }
  // `ended` has been called.
  bool has_ended() const { return exit_ && !on_ended_; }
  void Signal(int number);
  std::string TailOfStderr() const { return captured_err_ ? captured_err_->Tail() : tail_.Tail(); }

 private:
  RankProgram(net::EventLoop& loop, int rank, std::unique_ptr<process::Child> child, UniqueFd out, bool tail);
  void Capture(CapturedOutput captured);
  void Watch();
  void Unwatch();
  void PassOnRest();
  void WaitFor(output::Console& console);
  void End();

  net::EventLoop& loop_;
  int rank_;
  std::unique_ptr<process::Child> child_;
  UniqueFd out_;  // a descriptor of our standard error of its own: an event loop has one handler for each
  output::StderrTail tail_;  // if output is not captured
  output::StderrTail::Interest watched_;
  std::unique_ptr<output::ProgramOutput> captured_out_;  // if it is
  std::unique_ptr<output::ProgramOutput> captured_err_;
  output::Console* out_console_ = nullptr;
  output::Console* err_console_ = nullptr;
  std::optional<process::ChildExit> exit_;
  std::function<void()> on_ended_;
  net::EventLoop::TimerId rest_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::run
