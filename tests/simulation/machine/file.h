// The target of a simulated process's descriptor. A world owns all of them until it ends; closing takes
// effect when the descriptor is closed (none is ever duplicated).
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/simulation/machine/process.h"

namespace muster::simulation {

class Epoll;

class File {
 public:
  explicit File(World& w) : world(w) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // EPOLLIN, EPOLLOUT, ...
  virtual uint32_t Ready() = 0;
  // Ready() may be another now: wakes those who wait for that.
  void Changed();
  void CloseNow();
  bool closed() const { return closed_; }

  World& world;
  std::vector<Fiber*> pollers;

 protected:
  virtual void OnClose() {}

 private:
  friend class Epoll;
  struct Watcher {
    Epoll* epoll;
    int fd;
  };
  std::vector<Watcher> watchers_;
  bool closed_ = false;
};

// Level-triggered. Ready descriptors are reported in the order in which they became so.
class Epoll : public File {
 public:
  using File::File;

  int Control(int operation, int fd, File* file, const epoll_event* event);
  // At most `most`, into `events`.
  int Collect(epoll_event* events, int most);
  uint32_t Ready() override;
  void Enqueue(int fd);

  Fiber* waiter = nullptr;

 private:
  friend class File;
  struct Registration {
    File* file = nullptr;  // null: none
    epoll_event event{};
    bool queued = false;
  };
  Registration* FindRegistration(int fd);
  static uint32_t Of(const Registration& registration);
  void OnClose() override;

  std::vector<Registration> registrations_;  // by descriptor
  std::deque<int> queue_;
};

class EventCounter : public File {
 public:
  using File::File;
  uint32_t Ready() override { return EPOLLOUT | (count > 0 ? EPOLLIN : 0U); }

  uint64_t count = 0;
};

// pidfd_open(2).
class EndWatch : public File {
 public:
  EndWatch(World& w, Process& of) : File(w), process(of) { process.end_watches.push_back(this); }
  uint32_t Ready() override { return process.state == Process::State::kEnded ? EPOLLIN : 0U; }

  Process& process;

 private:
  void OnClose() override { std::erase(process.end_watches, this); }
};

}  // namespace muster::simulation
