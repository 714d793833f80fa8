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
  for (const Watcher& watcher : std::exchange(watchers_, {})) watcher.epoll->registrations_.erase(watcher.fd);
  OnClose();
}

int Epoll::Control(int operation, int fd, File* file, const epoll_event* event) {
  const auto found = registrations_.find(fd);
  if (operation == EPOLL_CTL_DEL || operation == EPOLL_CTL_MOD) {
    if (found == registrations_.end()) {
      errno = ENOENT;
      return -1;
    }
    if (operation == EPOLL_CTL_DEL) {
      std::erase_if(file->watchers_, [&](const Watcher& one) { return one.epoll == this && one.fd == fd; });
      registrations_.erase(found);
      return 0;
    }
    found->second.event = *event;
  } else {
    if (found != registrations_.end()) {
      errno = EEXIST;
      return -1;
    }
    registrations_.emplace(fd, Registration{file, *event});
    file->watchers_.push_back({this, fd});
  }
  if (Of(registrations_.at(fd)) != 0) Enqueue(fd);
  return 0;
}

uint32_t Epoll::Of(const Registration& registration) {
  return registration.file->Ready() & (registration.event.events | EPOLLERR | EPOLLHUP);
}

void Epoll::Enqueue(int fd) {
  Registration& registration = registrations_.at(fd);
  if (std::exchange(registration.queued, true)) return;
  queue_.push_back(fd);
  if (waiter != nullptr) world.Wake(*waiter);
  Changed();
}

int Epoll::Collect(epoll_event* events, int most) {
  int count = 0;
  for (size_t left = queue_.size(); left > 0 && count < most; --left) {
    const int fd = queue_.front();
    queue_.pop_front();
    const auto found = registrations_.find(fd);
    // A later registration of the same number has its own place in the queue.
    if (found == registrations_.end() || !found->second.queued) continue;
    const uint32_t ready = Of(found->second);
    found->second.queued = ready != 0;
    if (ready == 0) continue;
    events[count] = found->second.event;
    events[count++].events = ready;
    queue_.push_back(fd);
  }
  return count;
}

uint32_t Epoll::Ready() {
  const bool any = std::ranges::any_of(queue_, [this](int fd) {
    const auto found = registrations_.find(fd);
    return found != registrations_.end() && Of(found->second) != 0;
  });
  return any ? EPOLLIN : 0U;
}

void Epoll::OnClose() {
  for (const auto& [fd, registration] : registrations_) {
    std::erase_if(registration.file->watchers_, [this](const Watcher& one) { return one.epoll == this; });
  }
  registrations_.clear();
}

}  // namespace muster::simulation
