#include "comm/system/timed_lock.h"

#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(LockUntil, GetsWhatIsFree) {
  std::timed_mutex mutex;
  const auto lock = LockUntil(mutex, Clock::now());
  EXPECT_TRUE(lock.owns_lock());
}

TEST(LockUntil, GivesUpInTime) {
  std::recursive_timed_mutex mutex;
  const std::lock_guard held(mutex);
  std::thread([&] {
    const auto began = Clock::now();
    const auto lock = LockUntil(mutex, began + milliseconds(20));
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_GE(Clock::now() - began, milliseconds(20));
  }).join();
}

TEST(LockUntil, WaitsForAsLongAsItTakes) {
  std::timed_mutex mutex;
  std::unique_lock held(mutex);
  std::thread other([&] { EXPECT_TRUE(LockUntil(mutex, Clock::time_point::max()).owns_lock()); });
  held.unlock();
  other.join();
}

}  // namespace
}  // namespace muster
