// An event loop: descriptors, timers and work posted from other threads. The control plane runs on one loop,
// and unfinished data connections of a process are on another.
//
// Threads: one at a time, except for Post, mailbox() and fd(). Handlers run on the thread that runs the loop, one
// at a time; they may watch, forget and cancel anything, themselves included. Nothing blocks except RunUntil and
// RunOnce, until their deadline. Ownership: descriptors stay the caller's; Forget before closing one.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::net {

// The queue of other threads' work for a loop; outlives the loop, and then drops posted work.
class Mailbox {
 public:
  static Result<std::shared_ptr<Mailbox>> Create();
  void Post(std::function<void()> work);
  std::vector<std::function<void()>> TakeAll();
  void Close();
  int fd() const { return wake_.get(); }

 private:
  explicit Mailbox(UniqueFd wake) : wake_(std::move(wake)) {}
  UniqueFd wake_;
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<std::function<void()>> work_;
};

class EventLoop {
 public:
  using IoHandler = std::function<void(uint32_t epoll_events)>;
  // A timer that fires once. May be ignored: then it fires unless the loop ends before.
  struct TimerId {
    EventLoop* loop = nullptr;
    Clock::time_point when{};
    uint64_t number = 0;
  };

  static Result<std::unique_ptr<EventLoop>> Create();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // EPOLLIN, EPOLLOUT, ...; level-triggered. A descriptor has one handler.
  Status Watch(int fd, uint32_t events, IoHandler handler);
  void Change(int fd, uint32_t events);
  void Forget(int fd);

  TimerId At(Clock::time_point when, std::function<void()> handler);
  // However long the delay: one beyond the clock's range never fires.
  TimerId After(Duration delay, std::function<void()> handler) {
    return At(Deadline::After(delay).when(), std::move(handler));
  }
  void Cancel(const TimerId& timer);  // harmless if it has fired
  bool IsPending(const TimerId& timer) const { return timers_.contains({timer.when, timer.number}); }

  void Post(std::function<void()> work) { mailbox_->Post(std::move(work)); }
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  // Until `done` is true (checked after each round of handlers) or the deadline; true when done.
  bool RunUntil(const std::function<bool()>& done, Deadline deadline);
  void RunOnce(Deadline deadline);

  // For an owner that polls the loop among other descriptors: readable if RunReady has a handler to call. Any
  // thread may poll it.
  int fd() const { return epoll_.get(); }
  // Calls the handlers of all that is ready now, however much it is, each at most once.
  void RunReady();

 private:
  struct Watched {
    IoHandler handler;
    uint64_t generation = 0;
    uint32_t events = 0;
  };
  EventLoop(UniqueFd epoll, std::shared_ptr<Mailbox> mailbox);
  // `events`: room for those of one round.
  void Serve(std::span<epoll_event> events, int timeout_ms);
  void RunTimers();
  void RunMail();
  void Dispatch(uint64_t tag, uint32_t events);
  Watched* Find(int fd) const;  // null if it is not watched

  UniqueFd epoll_;
  std::shared_ptr<Mailbox> mailbox_;
  // By descriptor: the kernel gives the lowest that is free. shared_ptr: a handler may remove itself while it
  // runs.
  std::vector<std::shared_ptr<Watched>> watched_;
  std::map<std::pair<Clock::time_point, uint64_t>, std::function<void()>> timers_;
  uint64_t next_generation_ = 1;
  uint64_t next_timer_ = 1;
};

// A timer of its owner, which must not outlive the loop: cancelled when it is destroyed or set again.
//
//   timer_ = loop_.After(pause, [this] { TryAgain(); });
class Timer {
 public:
  Timer() = default;
  Timer(const EventLoop::TimerId& id) : id_(id) {}  // NOLINT(google-explicit-constructor)
  Timer(Timer&& other) noexcept : id_(std::exchange(other.id_, {})) {}
  Timer& operator=(Timer other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Timer() { Cancel(); }

  void Cancel() {
    if (id_.loop != nullptr) id_.loop->Cancel(std::exchange(id_, {}));
  }
  // It will fire. Not within its handler.
  bool pending() const { return id_.loop != nullptr && id_.loop->IsPending(id_); }

 private:
  EventLoop::TimerId id_;
};

}  // namespace muster::net
