// Counts a call on an object from its beginning to its end: the owner frees the object once no call is left.
#pragma once

#include <atomic>

namespace muster {

class CountedCall {
 public:
  explicit CountedCall(std::atomic<int>& calls) : calls_(calls) { ++calls_; }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  ~CountedCall() { --calls_; }

 private:
  std::atomic<int>& calls_;
};

}  // namespace muster
