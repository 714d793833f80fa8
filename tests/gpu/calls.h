// The calls that are timed, and the form of their times: the same for muster and for bare NCCL.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster {

enum class Timed {
  kAllReduce,
  kReduceScatter,
  kBroadcast,  // from rank 0
  kSendRecv,   // around the ring
  kGroup,      // of kInGroup AllReduces
};
constexpr int kInGroup = 8;

// A call on `bytes` of f32 (ReduceScatter: the bytes that a rank sends), repeated.
struct TimedCall {
  std::string name;  // "all_reduce:1048576"
  Timed operation = Timed::kAllReduce;
  size_t bytes = 0;
  int repeat = 0;

  size_t count() const { return bytes / sizeof(float); }
};

// Of each word "all_reduce:1048576:20". Error: kUsage, names the word.
Result<std::vector<TimedCall>> ParseCalls(std::span<const char* const> words);

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One line of JSON: {"init_s":0.5,"us":{"all_reduce:1048576":12.5}}. `seconds`: of the start, then of each call.
std::string FormatTimes(const std::vector<TimedCall>& calls, const std::vector<double>& seconds);

}  // namespace muster
