// One stream of a program's output on its way to ours, to a file, or both, with labels or unchanged. Its last
// lines are kept for the report of a failure. Without --label and --log-dir a program's standard output is
// ours itself, and only its standard error comes here.
//
// Lives on one EventLoop. Nothing waits. While our stream or the file is full the pipe is not read from: the
// program waits, nothing grows.
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
    std::string name;  // for a line of the log: "standard error of rank 3"
    net::EventLoop& loop;
    Console& console;                  // must outlive this, and so must the file
    std::optional<std::string> label;  // absent: as it is
    Console* file = nullptr;           // may be null
    // The pipe closes with the console's reader: the program receives SIGPIPE, as without muster. Off: its output
    // is read on and dropped.
    bool ends_with_reader = false;
  };

  // `pipe`: the read end, non-blocking.
  ProgramOutput(Params params, UniqueFd pipe);
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;
  ~ProgramOutput();

  // When the program has ended: takes the present content of the pipe, without waiting for the end of file.
  // The rest is then in the console. Processes that the program left behind may write on.
  void TakeRest();
  // The run ends: the pipe is closed.
  void Stop();
  std::string Tail() const { return tail_.Text(); }

 private:
  // A pipe that the kernel refuses to watch, for want of memory or of max_user_watches, is read at intervals.
  void Watch();
  void ReadLater();
  void Unwatch();
  void OnReadable();
  size_t Read(size_t at_most);
  void Take(std::string_view bytes);
  // True: our stream or the file is full, and the pipe is watched again when it has room.
  bool WaitsForRoom();
  void WatchWhenRoom(Console& console);
  void FlushSoon();
  void FlushLabelled();

  Params params_;
  UniqueFd pipe_;
  bool watched_ = false;
  bool refused_ = false;  // and logged
  net::Timer read_timer_;
  std::optional<LineLabeller> labeller_;
  std::string labelled_;
  LineTail tail_;
  net::Timer flush_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::output
