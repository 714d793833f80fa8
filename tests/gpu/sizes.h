// What is timed, and how it is told: the same for muster and for bare NCCL.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster {

// An AllReduce of so many bytes of f32, repeated.
struct TimedSize {
  size_t bytes = 0;
  int repeat = 0;
};

// "1048576:20". Error: kUsage, names the word.
Result<std::vector<TimedSize>> ParseSizes(std::span<const char* const> words);

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One line of JSON: {"init_s":0.5,"us":{"1048576":12.5}}. `seconds`: of the start, then of one AllReduce of
// each size.
std::string FormatTimes(const std::vector<TimedSize>& sizes, const std::vector<double>& seconds);

}  // namespace muster
