#include "tests/simulation/machine/file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tests/simulation/machine/world.h"

namespace muster::simulation {

void File::Changed() {
  for (const Watcher& watcher : watchers_) watcher.epoll->Enqueue(watcher.fd);
  for (Fiber* fiber : std::exchange(pollers, {})) world.Wake(*fiber);
}

void File::CloseNow() {
  if (std::exchange(closed_, true)) return;
  for (const Watcher& watcher : std::exchange(watchers_, {}))
    watcher.epoll->registrations_[static_cast<size_t>(watcher.fd)] = {};
  OnClose();
}

Epoll::Registration* Epoll::FindRegistration(int fd) {
  const auto at = static_cast<size_t>(fd);
  return at < registrations_.size() && registrations_[at].file != nullptr ? &registrations_[at] : nullptr;
}

int Epoll::Control(int operation, int fd, File* file, const epoll_event* event) {
  Registration* found = FindRegistration(fd);
  if (operation == EPOLL_CTL_DEL || operation == EPOLL_CTL_MOD) {
    if (found == nullptr) {
      errno = ENOENT;
      return -1;
    }
    if (operation == EPOLL_CTL_DEL) {
      std::erase_if(file->watchers_, [&](const Watcher& one) { return one.epoll == this && one.fd == fd; });
      *found = {};
      return 0;
    }
    found->event = *event;
  } else {
    if (found != nullptr) {
      errno = EEXIST;
      return -1;
    }
    if (std::cmp_greater_equal(fd, registrations_.size())) registrations_.resize(static_cast<size_t>(fd) + 1);
    found = &registrations_[static_cast<size_t>(fd)];
    *found = {file, *event};
    file->watchers_.push_back({this, fd});
  }
  if (Of(*found) != 0) Enqueue(fd);
  return 0;
}

uint32_t Epoll::Of(const Registration& registration) {
  return registration.file->Ready() & (registration.event.events | EPOLLERR | EPOLLHUP);
}

void Epoll::Enqueue(int fd) {
  if (std::exchange(registrations_[static_cast<size_t>(fd)].queued, true)) return;
  queue_.push_back(fd);
  if (waiter != nullptr) world.Wake(*waiter);
  Changed();
}

int Epoll::Collect(epoll_event* events, int most) {
  int count = 0;
  for (size_t left = queue_.size(); left > 0 && count < most; --left) {
    const int fd = queue_.front();
    queue_.pop_front();
    Registration* const found = FindRegistration(fd);
    // A later registration of the same number has its own place in the queue.
    if (found == nullptr || !found->queued) continue;
    const uint32_t ready = Of(*found);
    found->queued = ready != 0;
    if (ready == 0) continue;
    events[count] = found->event;
    events[count++].events = ready;
    queue_.push_back(fd);
  }
  return count;
}

uint32_t Epoll::Ready() {
  const bool any = std::ranges::any_of(queue_, [this](int fd) {
    const Registration* const found = FindRegistration(fd);
    return found != nullptr && Of(*found) != 0;
  });
  return any ? EPOLLIN : 0U;
}

void Epoll::OnClose() {
  for (const Registration& registration : registrations_) {
    if (registration.file == nullptr) continue;
    std::erase_if(registration.file->watchers_, [this](const Watcher& one) { return one.epoll == this; });
  }
  registrations_.clear();
}

}  // namespace muster::simulation
