// A point on the monotonic clock by which something must have happened. Every wait in muster takes one.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace muster {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

class Deadline {
 public:
  static Deadline At(Clock::time_point when) { return Deadline(when); }
  static Deadline After(Duration duration) {
    const auto now = Clock::now();
    // A duration of years must not wrap around to the past.
    return duration >= Clock::time_point::max() - now ? Never() : Deadline(now + duration);
  }
  // For an owner that bounds the wait in another way; name it at the use.
  static Deadline Never() { return Deadline(Clock::time_point::max()); }

  Clock::time_point when() const { return when_; }
  bool IsNever() const { return when_ == Clock::time_point::max(); }
  bool Expired() const { return !IsNever() && Clock::now() >= when_; }
  // Never negative.
  Duration Remaining() const {
    return IsNever() ? Duration::max() : std::max(Duration::zero(), Duration(when_ - Clock::now()));
  }
  // For poll(2): rounded up, so that a wait never ends before the deadline; -1 for Never.
  int PollMilliseconds() const {
    if (IsNever()) return -1;
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(Remaining()).count();
    return static_cast<int>(std::min<decltype(whole)>(whole, std::numeric_limits<int>::max()));
  }
  Deadline EarlierOf(Deadline other) const { return when_ < other.when_ ? *this : other; }

  friend bool operator==(Deadline, Deadline) = default;

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace muster
