// A map that is at work on two ranks, as the root reports it.
#pragma once

#include "comm/map/state.h"

namespace muster::map {

inline MapState MapAtWork() {
  using std::chrono::milliseconds;
  MapState map;
  map.number = 1;
  map.subject = "python eval.py {model}";
  map.journal = "/scratch/out/journal";
  map.phase = MapPhase::kAtWork;
  map.progress = {400, 116, 2, 20, 5, 1};
  map.elapsed = milliseconds(10000);
  map.slowest = {{6, "q7", 1, milliseconds(12100)}, {2, "q3", 0, milliseconds(400)}};
  map.longest = {{117, "", 1, milliseconds(3000)}};
  map.failed = {{8, "q9", 0, milliseconds(20)}, {9, "", 1, milliseconds(0)}};
  map.ranks = {{0, 1, false, 90, 2, 4, 1, milliseconds(9700)}, {1, 2, true, 6, 1, 1, 1, milliseconds(2400)}};
  return map;
}

}  // namespace muster::map
