// Carries a program's standard error to ours, byte for byte, and keeps the last lines for the report of a
// failure.
//
// For an event loop that must not block: the pipe is read only when our standard error can take bytes (poll
// reports that; at most PIPE_BUF bytes at a time, which a writable pipe takes whole). If our reader stops
// reading, the program's writes therefore block, as they would without muster; nothing is lost and nothing
// grows. Another process that fills the same pipe between poll and write can make us wait for its reader:
// rare, and it ends when that reader reads. A file is never polled: it is always ready, and epoll refuses it.
//
// SIGPIPE must be ignored (SignalRelay does that). If our standard error is gone, the program's is read on
// and dropped.
//
// Threads: one at a time. Nothing waits.
#pragma once

#include <string>

#include "bootstrap/output/line_tail.h"
#include "comm/base/unique_fd.h"

namespace muster::output {

class StderrTail {
 public:
  // `pipe`: the read end (Child::TakeStderr), non-blocking. `out`: ours, not owned, may be blocking.
  StderrTail(UniqueFd pipe, int out);
  StderrTail(const StderrTail&) = delete;
  StderrTail& operator=(const StderrTail&) = delete;

  // The descriptor to poll before the next Pump; fd -1 after the end. It changes with every Pump.
  struct Interest {
    int fd = -1;
    short events = 0;  // POLLIN or POLLOUT
  };
  Interest interest() const;

  // Moves what there is, up to 4096 bytes.
  void Pump();

  // When the program has ended: the present content of the pipe is the rest, also if another process holds
  // the pipe. PumpRest moves as much of it as `out` takes without waiting; true when all of it is moved.
  // Abandon keeps the rest for Tail and does not write it.
  void BeginRest();
  bool PumpRest();
  void Abandon();

  // No process holds the other end. The pipe stays open, because a caller may still poll it.
  bool ended() const { return ended_; }

  std::string Tail() const { return tail_.Text(); }

 private:
  void Read(size_t at_most);
  void WritePending();
  bool OutReady() const;
  bool RestIsMoved() const { return rest_ == 0 && pending_.empty(); }

  const UniqueFd pipe_;
  bool ended_;
  const int out_;
  std::string pending_;  // read, but still unwritten
  bool in_rest_ = false;
  size_t rest_ = 0;  // still in the pipe
  bool waits_for_out_ = false;
  bool out_is_gone_ = false;
  LineTail tail_;
};

}  // namespace muster::output
