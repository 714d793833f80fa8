// The error that broke a communicator: the first one stays. Threads: any.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "comm/base/error.h"

namespace muster {

class FirstError {
 public:
  // The first error, which may be another one than `error`.
  Error Set(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    broken_.store(true, std::memory_order_release);
    return *error_;
  }
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  Status status() const {
    if (!broken()) return {};
    const std::lock_guard lock(mutex_);
    return Fail(*error_);
  }

 private:
  std::atomic<bool> broken_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace muster
