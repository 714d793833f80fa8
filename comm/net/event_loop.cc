#include "comm/net/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "comm/system/pipe.h"

namespace muster::net {
namespace {

// The tag in epoll's data distinguishes a descriptor from a later one with the same number.
uint64_t MakeTag(int fd, uint64_t generation) { return (generation << 32) | static_cast<uint32_t>(fd); }

}  // namespace

Result<std::shared_ptr<Mailbox>> Mailbox::Create() {
  UniqueFd wake = AboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return Fail(Code::kSystem, "cannot create an eventfd: {}", ErrnoText(errno));
  return std::shared_ptr<Mailbox>(new Mailbox(std::move(wake)));
}

// The table of posters (README.md) allows some ten thousand. More comes from a poster without a limit: it would take the
// memory of the node, and the kernel would end another process.
constexpr size_t kMostWaiting = size_t{1} << 18;

void Mailbox::Post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (work_.size() == kMostWaiting) {
    fmt::print(stderr,
               "muster: error: process {}: {} messages wait for its event loop: a defect of muster, please "
               "report it\n",
               getpid(), work_.size());
    std::abort();
  }
  work_.push_back(std::move(work));
  eventfd_write(wake_.get(), 1);  // a full counter wakes the loop as well
}

std::vector<std::function<void()>> Mailbox::TakeAll() {
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
  return std::exchange(work_, {});
}

void Mailbox::Close() {
  // Dropped outside the lock: the work's captures may post in their destructors.
  std::vector<std::function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(work_);
}

Result<std::unique_ptr<EventLoop>> EventLoop::Create() {
  UniqueFd epoll = AboveStandard(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Fail(Code::kSystem, "cannot create an epoll instance: {}", ErrnoText(errno));
  MUSTER_TRY(auto mailbox, Mailbox::Create());
  std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(mailbox)));
  EventLoop* raw = loop.get();
  MUSTER_CHECK(loop->Watch(loop->mailbox_->fd(), EPOLLIN, [raw](uint32_t) { raw->RunMail(); }));
  return loop;
}

EventLoop::EventLoop(UniqueFd epoll, std::shared_ptr<Mailbox> mailbox)
    : epoll_(std::move(epoll)), mailbox_(std::move(mailbox)) {}

EventLoop::~EventLoop() {
  mailbox_->Close();
  // A handler's captures may call Forget and Cancel in their destructors: by then the tables are empty.
  const auto timers = std::exchange(timers_, {});
  const auto dropped = std::exchange(watched_, {});
}

EventLoop::Watched* EventLoop::Find(int fd) const {
  const auto at = static_cast<size_t>(fd);
  return at < watched_.size() ? watched_[at].get() : nullptr;
}

Status EventLoop::Watch(int fd, uint32_t events, IoHandler handler) {
  const uint64_t generation = next_generation_++ & 0xffffffffU;
  epoll_event event{};
  event.events = events;
  event.data.u64 = MakeTag(fd, generation);
  const int operation = Find(fd) != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) {
    const int reason = errno;
    return WithHint(Fail(Code::kSystem, "cannot watch descriptor {}: {}", fd, ErrnoText(reason)),
                    reason == ENOSPC ? "raise the limit: sysctl fs.epoll.max_user_watches" : "");
  }
  if (watched_.size() <= static_cast<size_t>(fd)) watched_.resize(static_cast<size_t>(fd) + 1);
  // Dropped last: a handler's captures may call Watch or Forget in their destructors.
  auto watched = std::make_shared<Watched>(Watched{std::move(handler), generation, events});
  watched.swap(watched_[static_cast<size_t>(fd)]);
  return {};
}

void EventLoop::Change(int fd, uint32_t events) {
  Watched* const watched = Find(fd);
  if (watched == nullptr || watched->events == events) return;
  watched->events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = MakeTag(fd, watched->generation);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Forget(int fd) {
  if (Find(fd) == nullptr) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  const std::shared_ptr<Watched> dropped = std::move(watched_[static_cast<size_t>(fd)]);
}

EventLoop::TimerId EventLoop::At(Clock::time_point when, std::function<void()> handler) {
  const TimerId id{this, when, next_timer_++};
  timers_.emplace(std::pair(id.when, id.number), std::move(handler));
  return id;
}

// A handler's captures may cancel others in their destructors.
void EventLoop::Cancel(const TimerId& timer) {
  const auto dropped = timers_.extract({timer.when, timer.number});
}

bool EventLoop::RunUntil(const std::function<bool()>& done, Deadline deadline) {
  while (!done()) {
    if (deadline.Expired()) return false;
    RunOnce(deadline);
  }
  return true;
}

void EventLoop::RunOnce(Deadline deadline) {
  if (!timers_.empty()) deadline = deadline.EarlierOf(Deadline::At(timers_.begin()->first.first));
  std::array<epoll_event, 64> events{};
  Serve(events, deadline.PollMilliseconds());
  RunTimers();
}

void EventLoop::RunReady() {
  // No descriptor is beyond the end of watched_.
  const auto events = std::make_unique_for_overwrite<epoll_event[]>(watched_.size());
  Serve({events.get(), watched_.size()}, 0);
  RunTimers();
}

void EventLoop::Serve(std::span<epoll_event> events, int timeout_ms) {
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (const epoll_event& event : events.first(static_cast<size_t>(std::max(count, 0))))
    Dispatch(event.data.u64, event.events);
}

void EventLoop::Dispatch(uint64_t tag, uint32_t events) {
  const auto fd = static_cast<size_t>(tag & 0xffffffffU);
  if (fd >= watched_.size() || !watched_[fd] || watched_[fd]->generation != tag >> 32) return;
  const std::shared_ptr<Watched> watched = watched_[fd];
  watched->handler(events);
}

void EventLoop::RunTimers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    node.mapped()();
  }
}

void EventLoop::RunMail() {
  for (const auto& work : mailbox_->TakeAll()) work();
}

}  // namespace muster::net
