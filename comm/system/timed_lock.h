// A lock with a deadline, for mutexes that a foreign call may hold for longer than it should.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include "comm/base/deadline.h"

namespace muster {

// BLOCKS until `when` at the longest; owns_lock() is the result. `mutex` is one of the timed ones.
template <typename Mutex>
std::unique_lock<Mutex> LockUntil(Mutex& mutex, Clock::time_point when) {
#if defined(__SANITIZE_THREAD__)
  // GCC 12's ThreadSanitizer does not support pthread_mutex_clocklock, which the steady clock leads to.
  const auto left = std::min<Duration>(when - Clock::now(), std::chrono::hours(1));
  return std::unique_lock<Mutex>(mutex, std::chrono::system_clock::now() + left);
#else
  return std::unique_lock<Mutex>(mutex, when);
#endif
}

}  // namespace muster
