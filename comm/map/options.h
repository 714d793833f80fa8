// A caller's options of a map, and its outcome.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"

namespace muster::map {

inline constexpr int kMostClasses = 64;

struct Options {
  std::string journal;          // an absolute path of the root's node; "": results live as long as the group
  int retries = 2;              // tries after the first, before an item is abandoned
  Duration timeout{};           // of one item; zero: none. A process that takes longer is ended (75)
  bool retry_poisoned = false;  // items that an earlier run abandoned are tried again
  Duration time_left{};         // until this job's end, if known at this rank; zero: unknown
  int slots = 1;                // items that this rank works on at a time; may differ by rank
  bool quiet = false;           // no lines about the progress
  // Class of each item, by its number: 0 to kMostClasses - 1; higher ones count as the last. Items of a class
  // take about equally long. Empty: one class. Rank 0's value counts.
  Bytes classes{};

  // Called on a thread of the group's before the process ends by itself because an item is out of time. May be empty.
  std::function<void()> end_children{};

  // At most until then, if it is known. Zero would mean unknown.
  void EndBefore(Deadline latest) {
    if (!latest.IsNever()) time_left = std::max<Duration>(latest.Remaining(), std::chrono::milliseconds(1));
  }
  // Of the options that all ranks of a map must have in common: "retries 7 and 2, timeout 5s and none"; "" if they agree.
  std::string DifferencesFrom(const Options& other) const;
};

// The result of a map, the same on every rank.
struct Outcome {
  uint64_t items = 0;
  uint64_t committed = 0;  // by earlier runs as well
  uint64_t resumed = 0;    // of these and the poisoned, by earlier runs
  uint64_t poisoned = 0;
  bool time_is_up = false;               // items are left for the next run
  uint64_t second_commits = 0;           // refused
  std::vector<uint64_t> first_poisoned;  // 100 at most
  int first_rank = 0;  // the lowest that was neither lost nor had left the map when it was over
};

}  // namespace muster::map
