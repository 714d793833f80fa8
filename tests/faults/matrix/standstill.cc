// To be preloaded: once the file $STANDSTILL_WHEN is there, the control plane stands still, and all else goes
// on. For the canary of the fault matrix: without a control plane it must fail.
//
// A caller that waits in epoll_wait is a control plane's event loop (the data plane only checks, with a
// timeout of 0, or polls). A loop that has waited once is identified by its descriptor, and from then on
// never comes back from a wait.
#include <dlfcn.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

namespace {

using EpollWait = int(int, epoll_event*, int, int);

constexpr int kLook = 20;  // milliseconds
std::array<std::atomic<bool>, 4096> waits{};

bool StandsStill() {
  static const char* const file = std::getenv("STANDSTILL_WHEN");
  return file != nullptr && access(file, F_OK) == 0;
}

bool IsControlPlane(int fd, int timeout) {
  if (fd < 0 || static_cast<size_t>(fd) >= waits.size()) return false;
  std::atomic<bool>& known = waits.at(static_cast<size_t>(fd));
  if (timeout != 0) known = true;
  return known;
}

}  // namespace

extern "C" int epoll_wait(int fd, epoll_event* events, int most, int timeout) {
  static auto* const real = reinterpret_cast<EpollWait*>(dlsym(RTLD_NEXT, "epoll_wait"));
  if (!IsControlPlane(fd, timeout)) return real(fd, events, most, timeout);
  for (int waited = 0;; waited += kLook) {
    while (StandsStill()) pause();
    // In short checks, as nothing wakes it when the file comes.
    const bool last = timeout >= 0 && waited + kLook >= timeout;
    const int ready = real(fd, events, most, last ? timeout - waited : kLook);
    if (StandsStill()) continue;
    if (ready != 0 || last) return ready;
  }
}
