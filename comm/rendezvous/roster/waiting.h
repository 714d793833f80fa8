// When and how a long wait is reported: on a terminal one line that is rewritten every second, in a log a
// line after 5 s, after 15 s and then every minute. And the deadline of that wait.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/net/event_loop.h"

namespace muster::rendezvous {

// The time from the beginning to report number `report` (from 0). Pure.
Duration WhenToReport(bool terminal, int report);

struct AwaitedRanks {
  std::string text;          // "118/128 ranks; missing gpu03: 24-31 (...)"
  std::vector<int> missing;  // for the log event; empty if not known
};

class WaitReporter {
 public:
  // Calls `describe` each time a line is due; an empty text is not printed.
  WaitReporter(net::EventLoop& loop, bool terminal, std::function<AwaitedRanks()> describe);
  WaitReporter(const WaitReporter&) = delete;
  WaitReporter& operator=(const WaitReporter&) = delete;
  ~WaitReporter();

  Duration waited() const { return Clock::now() - start_; }

 private:
  void Schedule();
  void Report();

  net::EventLoop& loop_;
  bool terminal_;
  std::function<AwaitedRanks()> describe_;
  Clock::time_point start_ = Clock::now();
  net::Timer timer_;
  int reports_ = 0;
  bool line_open_ = false;
};

// The end of a process's wait for its group. Runs on one EventLoop.
class JoinDeadline {
 public:
  JoinDeadline(net::EventLoop& loop, std::function<void()> on_end)
      : loop_(loop), on_end_(std::move(on_end)) {}
  JoinDeadline(const JoinDeadline&) = delete;
  JoinDeadline& operator=(const JoinDeadline&) = delete;

  void Set(Duration remaining);
  // on_end is not called until the deadline is set again.
  void Stop() { timer_.Cancel(); }
  Deadline when() const { return deadline_; }

 private:
  net::EventLoop& loop_;
  std::function<void()> on_end_;
  Deadline deadline_ = Deadline::Never();
  net::Timer timer_;
};

}  // namespace muster::rendezvous
