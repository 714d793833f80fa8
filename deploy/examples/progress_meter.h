// Says on rank 0 how far the work is, without drowning anything: nothing in the first half second; then on a
// terminal one line that updates at most four times a second, in a log one line each at 25, 50 and 75 per
// cent.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/deadline.h"

namespace muster::examples {

// Returns text instead of writing it, and is told the time. One thread.
class ProgressMeter {
 public:
  ProgressMeter(bool terminal, Clock::time_point start) : terminal_(terminal), start_(start), shown_(start) {}

  // What to write now; mostly nothing.
  std::string Advance(uint64_t done, uint64_t total, Clock::time_point now);
  // What to write before anything else is printed: clears the terminal's line.
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
