// One of our standard streams, to which several programs' output goes: text of one call is written in one
// piece.
//
// Lives on one EventLoop and does not block: text waits here until the reader takes it, and callers check
// full() before they add more. Short lines are written whole (PIPE_BUF), so that they stay whole beside the
// output of other processes to the same pipe. If the stream is gone, everything is dropped. SIGPIPE must be
// ignored.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"

namespace muster::output {

class Console {
 public:
  // `fd` is not owned and may be blocking.
  Console(net::EventLoop& loop, int fd);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  void Write(std::string_view bytes);
  // The queue is full: callers add nothing.
  bool full() const { return pending_.size() - written_ >= kMostPending; }
  // Once, when it is not full again.
  void WhenRoom(std::function<void()> go_on) { waiting_.push_back(std::move(go_on)); }
  // Waits for the reader, at most until the deadline; the rest stays in the queue.
  void Drain(Deadline deadline);
  bool idle() const { return pending_.empty(); }
  // Once, when nothing waits. Not while it is idle.
  void WhenIdle(std::function<void()> go_on) { waiting_for_idle_.push_back(std::move(go_on)); }
  // Called whenever the queue becomes empty.
  void OnIdle(std::function<void()> on_idle) { on_idle_ = std::move(on_idle); }

 private:
  static constexpr size_t kMostPending = size_t{256} * 1024;

  bool Ready(Deadline deadline) const;
  void WriteSome();
  void Flush();
  void Watch(bool on);

  net::EventLoop& loop_;
  UniqueFd fd_;  // of our own: an event loop has one handler for each
  bool is_file_ = false;
  bool gone_ = false;
  bool watched_ = false;
  std::string pending_;
  size_t written_ = 0;  // of pending_
  std::vector<std::function<void()>> waiting_;
  std::vector<std::function<void()>> waiting_for_idle_;
  std::function<void()> on_idle_;
};

}  // namespace muster::output
