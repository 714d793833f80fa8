// The end of a process as an event of a loop. If the kernel has no such event (process_end.h) the process is
// checked ten times a second.
//
// Runs on one EventLoop.
#pragma once

#include <functional>

#include "comm/net/event_loop.h"
#include "comm/system/process_end.h"

namespace muster::net {

class ProcessWatch {
 public:
  // `on_end` is called once, from the loop, even if the process has ended already. It may destroy the watch.
  ProcessWatch(EventLoop& loop, pid_t pid, std::function<void()> on_end);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch();

  const ProcessEnd& end() const { return end_; }

 private:
  void Look();
  void LookAfter(Duration pause);
  void Stop();

  EventLoop& loop_;
  const ProcessEnd end_;
  std::function<void()> on_end_;
  bool watched_ = false;
  Timer timer_;
};

}  // namespace muster::net
