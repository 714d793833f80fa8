// The one line about a map for all its ranks: rewritten on a terminal, at growing intervals in a log.
#pragma once

#include <string>

#include "comm/base/deadline.h"
#include "comm/map/ledger.h"

namespace muster::map {

// "map: 118 of 400 items done, 2 given up; 3.2 a second, about 1 min 28 s left". `since`: how long this run has worked
// on it.
std::string DescribeProgress(const Progress& progress, Duration since);

class ProgressLog {
 public:
  void Begin(const Progress& progress, Clock::time_point now);
  // Once a second or so.
  void Tell(const Progress& progress, Clock::time_point now);
  void End(const Progress& progress, Clock::time_point now);

 private:
  Clock::time_point begun_{};
  Duration next_{};
  bool terminal_ = false;
};

}  // namespace muster::map
