// Carries a program's standard error to ours, byte for byte, and keeps the last lines for the report of a
// failure.
//
// For an event loop that must not block: the pipe is read only when our standard error can take what comes
// (poll says so, and at most PIPE_BUF bytes at a time, which a pipe that polls writable takes whole). A
// reader of ours that stops reading therefore stops the program's writes, as it would without muster; nothing
// is lost and nothing grows. Another process that fills the same pipe between poll and write can make us wait
// for its reader: rare, and it ends when that reader reads. A file is never polled for: it is always ready,
// and epoll refuses it.
//
// SIGPIPE must be ignored (SignalRelay does that). Where our standard error is gone, the program's is read on
// and dropped.
//
// Threads: one at a time. Nothing but Drain waits.
#pragma once

#include <string>

#include "bootstrap/run/line_tail.h"
#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"

namespace muster {

class StderrTail {
 public:
  // `pipe`: the read end (Child::TakeStderr), non-blocking. `out`: ours, not owned, may be blocking.
  StderrTail(UniqueFd pipe, int out);
  StderrTail(const StderrTail&) = delete;
  StderrTail& operator=(const StderrTail&) = delete;

  // What to poll for before the next Pump; fd -1 after the end. It changes with every Pump.
  struct Interest {
    int fd = -1;
    short events = 0;  // POLLIN or POLLOUT
  };
  Interest interest() const;

  // Moves what there is, up to 4096 bytes.
  void Pump();

  // When the program has ended: moves what lies in the pipe now, without waiting for the end of file, which a
  // process it left behind may hold off. Waits for `out` at most until the deadline; what it does not take by
  // then is only kept.
  void Drain(Deadline deadline);

  // Nobody holds the other end any more.
  bool ended() const { return !pipe_; }

  std::string Tail() const { return tail_.Text(); }

 private:
  void Read(size_t at_most);
  void WritePending();
  bool OutReady(Deadline deadline) const;

  UniqueFd pipe_;
  const int out_;
  std::string pending_;  // read, not yet written
  bool waits_for_out_ = false;
  bool out_is_gone_ = false;
  LineTail tail_;
};

}  // namespace muster
