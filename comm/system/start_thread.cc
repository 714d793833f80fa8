#include "comm/system/start_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace muster {

Result<std::thread> StartThread(std::string_view what, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    thread = Fail(Code::kSystem, "cannot start {}: {}", what, error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

bool StartDetachedThread(std::function<void()> work) {
  Result<std::thread> thread = StartThread("a thread", std::move(work));
  if (thread) thread->detach();
  return thread.has_value();
}

}  // namespace muster
