#include "comm/net/process_watch.h"

#include <sys/epoll.h>

#include <utility>

namespace muster::net {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(100);

}  // namespace

ProcessWatch::ProcessWatch(EventLoop& loop, pid_t pid, std::function<void()> on_end)
    : loop_(loop), end_(ProcessEnd::Of(pid)), on_end_(std::move(on_end)) {
  if (end_.fd() >= 0) watched_ = loop_.Watch(end_.fd(), EPOLLIN, [this](uint32_t) { Look(); }).has_value();
  if (!watched_) LookAfter(Duration::zero());
}

ProcessWatch::~ProcessWatch() { Stop(); }

void ProcessWatch::Stop() {
  if (std::exchange(watched_, false)) loop_.Forget(end_.fd());
}

void ProcessWatch::LookAfter(Duration pause) {
  timer_ = loop_.After(pause, [this] { Look(); });
}

void ProcessWatch::Look() {
  if (!end_.HasEnded()) return watched_ ? void() : LookAfter(kLookAgain);
  Stop();
  // The call may destroy this object.
  const std::function<void()> on_end = std::move(on_end_);
  on_end();
}

}  // namespace muster::net
