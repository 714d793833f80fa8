// The descriptors of connections that are still being made, behind one epoll descriptor that any number of
// blocked threads can poll. Level-triggered.
//
// Threads: one at a time, but for fd(), which may be polled from anywhere. Ownership: descriptors stay the
// caller's; Remove before closing one.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::socket {

class PollSet {
 public:
  using Handler = std::function<void()>;
  using Id = uint64_t;

  // Error: kSystem.
  static Result<PollSet> Create();

  int fd() const { return epoll_.get(); }
  // `events`: EPOLLIN, EPOLLOUT. The handler may add and remove anything, itself included.
  Result<Id> Add(int fd, uint32_t events, Handler handler);
  void Change(Id id, int fd, uint32_t events);
  void Remove(Id id, int fd);
  // Calls the handlers of all that is ready now, each at most once; does not wait.
  void Dispatch();

 private:
  explicit PollSet(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  UniqueFd epoll_;
  // By number and not by pointer: an event of the same batch may be for what a handler has just removed.
  std::unordered_map<Id, Handler> handlers_;
  std::vector<epoll_event> events_;
  Id next_ = 1;
};

}  // namespace muster::socket
