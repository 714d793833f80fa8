#include "comm/system/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

namespace muster {
namespace {

struct List {
  std::mutex mutex;
  std::set<int> descriptors;
  std::atomic<int> depth = 0;
};

List& TheList();

// The list stays whole in the child: no other thread is in the middle of changing it.
void BeforeFork() { TheList().mutex.lock(); }
void InParent() { TheList().mutex.unlock(); }

void InChild() {
  List& list = TheList();
  list.depth.fetch_add(1, std::memory_order_relaxed);
  const int nowhere = list.descriptors.empty() ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : list.descriptors) {
    if (nowhere < 0) {
      close(fd);
    } else {
      dup3(nowhere, fd, O_CLOEXEC);
    }
  }
  if (nowhere >= 0) close(nowhere);
  list.mutex.unlock();
}

// Never destroyed: a fork may come at any time.
List& TheList() {
  static List& list = []() -> List& {
    pthread_atfork(BeforeFork, InParent, InChild);
    return *new List;
  }();
  return list;
}

}  // namespace

void CloseInForkedChildren(int fd) {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  list.descriptors.insert(fd);
}

void ForgetForForks(int fd) {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  list.descriptors.erase(fd);
}

int ForkDepth() { return TheList().depth.load(std::memory_order_relaxed); }

}  // namespace muster
