// The one line about a map for all its ranks: rewritten on a terminal, at growing intervals in a log.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/map/state.h"

namespace muster::map {

// "map: 118 of 400 items done, 2 failed; 3.2 a second, about 1 min 28 s left". `since`: duration of this
// run.
std::string DescribeProgress(const Progress& progress, Duration since);

// The items that the ranks of a node have done in this run.
struct NodeShare {
  std::string name;
  uint64_t done = 0;
  int slots = 0;
};
// "; gpu03 has done 12 a slot, half of the nodes 60 or more": the node with the fewest items per slot, if
// that is less than half of the median node's; else empty.
std::string DescribeUneven(std::vector<NodeShare> nodes);

class ProgressLog {
 public:
  void Begin(const Progress& progress, Clock::time_point now);
  // Once a second or so. `nodes` is called if a line is due.
  void Log(const Progress& progress, Clock::time_point now,
           const std::function<std::vector<NodeShare>()>& nodes);
  void End(const Progress& progress, Clock::time_point now);

 private:
  Clock::time_point begun_{};
  Duration next_{};
  bool terminal_ = false;
};

}  // namespace muster::map
