#include "comm/socket/transport/poll_set.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster::socket {

Result<PollSet> PollSet::Create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Fail(Code::kSystem, "cannot make an epoll descriptor: {}", ErrnoText(errno));
  return PollSet(std::move(epoll));
}

Result<PollSet::Id> PollSet::Add(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = next_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Fail(Code::kSystem, "cannot watch a connection: {}", ErrnoText(errno));
  }
  handlers_.emplace(next_, std::move(handler));
  return next_++;
}

void PollSet::Change(Id id, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void PollSet::Remove(Id id, int fd) {
  if (handlers_.erase(id) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void PollSet::Dispatch() {
  // Room for all: whoever applies deadlines afterwards must not find anything unread. A handler may add more.
  std::vector<epoll_event> events = std::exchange(events_, {});
  events.resize(std::max<size_t>(handlers_.size(), 1));
  const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < ready; ++i) {
    const auto found = handlers_.find(events[static_cast<size_t>(i)].data.u64);
    if (found == handlers_.end()) continue;
    const Handler handler = found->second;  // a copy: it may remove itself
    handler();
  }
  events_ = std::move(events);
}

}  // namespace muster::socket
