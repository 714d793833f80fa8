// One stream of a program's output on its way to ours, to a file, or both, with labels or unchanged. Its last
// lines are kept for the report of a failure. For --label and --log-dir; without them a program's standard
// output is ours itself, and StderrTail carries its standard error.
//
// Lives on one EventLoop. Nothing waits, except for the file's disk. While our stream is full the
// pipe is not read from: the program waits, nothing grows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bootstrap/output/console.h"
#include "bootstrap/output/line_labeller.h"
#include "bootstrap/output/line_tail.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"

namespace muster::output {

class ProgramOutput {
 public:
  struct Params {
    net::EventLoop& loop;
    Console& console;                  // must outlive this
    std::optional<std::string> label;  // absent: as it is
    UniqueFd file;                     // may be empty
  };

  // `pipe`: the read end, non-blocking.
  ProgramOutput(Params params, UniqueFd pipe);
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;
  ~ProgramOutput();

  // When the program has ended: takes the present content of the pipe, without waiting for the end of file.
  // The rest is then in the console.
  void TakeRest();
  std::string Tail() const { return tail_.Text(); }

 private:
  void Watch();
  void Unwatch();
  void OnReadable();
  size_t Read(size_t at_most);
  void Take(std::string_view bytes);
  void WriteToFile(std::string_view bytes);
  void FlushSoon();
  void FlushLabelled();

  Params params_;
  UniqueFd pipe_;
  bool watched_ = false;
  std::optional<LineLabeller> labeller_;
  std::string labelled_;
  LineTail tail_;
  net::EventLoop::TimerId flush_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::output
