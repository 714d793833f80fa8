#include "comm/nccl/bounded_call.h"

#include <signal.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace muster {
namespace {

struct Ending {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
};

}  // namespace

bool RunWithin(Deadline deadline, std::function<void()> call) {
  const auto ending = std::make_shared<Ending>();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([ending, call = std::move(call)] {
      call();
      const std::lock_guard lock(ending->mutex);
      ending->ended = true;
      ending->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  std::unique_lock lock(ending->mutex);
  const auto ended = [&] { return ending->ended; };
  if (!deadline.IsNever()) return ending->changed.wait_until(lock, deadline.when(), ended);
  ending->changed.wait(lock, ended);
  return true;
}

}  // namespace muster
