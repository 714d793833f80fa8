// One rank's program as its supervisor keeps it: the process, its standard error on the way to ours, and how
// it ended.
//
// Lives on one EventLoop. Killed with its process group when the object goes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/run/child.h"
#include "bootstrap/run/stderr_tail.h"
#include "comm/net/event_loop.h"

namespace muster {

class RankProgram {
 public:
  static tl::expected<std::unique_ptr<RankProgram>, StartFailure> Start(EventLoop& loop, int rank,
                                                                        const ChildOptions& options);
  RankProgram(const RankProgram&) = delete;
  RankProgram& operator=(const RankProgram&) = delete;
  ~RankProgram();

  int rank() const { return rank_; }
  pid_t pid() const { return child_->pid(); }
  // Looks (after SIGCHLD) whether it has ended; true the first time it has. Its last words have been passed
  // on then.
  bool NoticeExit();
  const std::optional<ChildExit>& exit() const { return exit_; }
  void Signal(int number);
  std::string LastWords() const { return tail_.Tail(); }

 private:
  RankProgram(EventLoop& loop, int rank, std::unique_ptr<Child> child, UniqueFd out);
  void Watch();
  void Unwatch();

  EventLoop& loop_;
  int rank_;
  std::unique_ptr<Child> child_;
  UniqueFd out_;  // a descriptor of our standard error of its own: an event loop has one handler for each
  StderrTail tail_;
  StderrTail::Interest watched_;
  std::optional<ChildExit> exit_;
};

}  // namespace muster
