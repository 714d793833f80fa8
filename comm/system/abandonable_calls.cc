#include "comm/system/abandonable_calls.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "comm/system/start_thread.h"

namespace muster {

struct AbandonableCalls::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool busy = false;

  bool WaitUntilFree(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    return changed.wait_until(lock, deadline.when(), [this] { return !busy; });
  }
};

AbandonableCalls::AbandonableCalls() : shared_(std::make_shared<Shared>()) {}

void AbandonableCalls::Launch(std::function<void()> call) {
  const auto work = [shared = shared_, call = std::move(call)] {
    call();
    const std::lock_guard lock(shared->mutex);
    shared->busy = false;
    shared->changed.notify_all();
  };
  // Without a thread the call blocks, which is better than no call.
  if (!StartDetachedThread(work)) work();
}

void AbandonableCalls::Start(std::function<void()> call) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->busy = true;
  }
  Launch(std::move(call));
}

bool AbandonableCalls::Run(std::function<void()> call, Deadline deadline) {
  {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->WaitUntilFree(lock, deadline)) return false;
    shared_->busy = true;
  }
  Launch(std::move(call));
  return WaitForAll(deadline);
}

bool AbandonableCalls::WaitForAll(Deadline deadline) {
  std::unique_lock lock(shared_->mutex);
  return shared_->WaitUntilFree(lock, deadline);
}

}  // namespace muster
