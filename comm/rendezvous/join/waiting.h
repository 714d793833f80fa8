// When and how a long wait is reported: on a terminal one line that is rewritten every second, in a log a
// line after 5 s, after 15 s and then every minute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"

namespace muster::rendezvous {

// How long after the beginning report number `report` is due (from 0). Pure.
Duration WhenToReport(bool terminal, int report);

struct AwaitedRanks {
  std::string text;          // "118/128 ranks; missing gpu03: 24-31 (...)"
  std::vector<int> missing;  // for the log event; empty where it is not known
};

class WaitReporter {
 public:
  // `describe` is asked for what is being waited for each time a line is due; an empty text is not printed.
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
  net::EventLoop::TimerId timer_ = 0;
  int reports_ = 0;
  bool line_open_ = false;
};

}  // namespace muster::rendezvous
