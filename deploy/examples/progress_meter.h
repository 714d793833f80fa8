// Reports progress on rank 0, sparsely: nothing in the first half second. After that a terminal gets one line
// that updates at most four times a second, a log one line each at 25, 50 and 75 per cent.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/deadline.h"

namespace muster::examples {

// Returns text instead of writing it, and receives the time. One thread.
class ProgressMeter {
 public:
  ProgressMeter(bool terminal, Clock::time_point start) : terminal_(terminal), start_(start), shown_(start) {}

  // The text to write now; mostly empty.
  std::string Advance(uint64_t done, uint64_t total, Clock::time_point now);
  // The text to write before any other output: clears the terminal's line.
  std::string Finish();

 private:
  std::string OnTerminal(const std::string& line, Clock::time_point now);

  bool terminal_;
  Clock::time_point start_;
  Clock::time_point shown_;
  uint64_t quarter_ = 0;
  bool drawn_ = false;
};

}  // namespace muster::examples
