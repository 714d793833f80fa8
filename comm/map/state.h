// The progress of a map: the facts that the root can report about it at any time. Values.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/deadline.h"

namespace muster::map {

struct Progress {
  uint64_t items = 0;
  uint64_t committed = 0;
  uint64_t poisoned = 0;
  uint64_t resumed = 0;  // of both, by earlier runs
  uint64_t granted = 0;  // at work, or in a rank's batch
  uint64_t second_commits = 0;

  uint64_t left() const { return items - committed - poisoned; }
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct ItemTime {
  uint64_t item = 0;
  std::string key;  // empty: only the ranks have it
  int rank = 0;
  Duration time{};    // of its last attempt, or since it was begun
  std::string error;  // of an abandoned item: a line; empty in the answer to a survey

  friend bool operator==(const ItemTime&, const ItemTime&) = default;
};

// The items that took longest, longest first.
class LongestItems {
 public:
  static constexpr size_t kMost = 5;

  bool Takes(Duration time) const { return items_.size() < kMost || time > items_.back().time; }
  void Add(ItemTime item) {
    if (!Takes(item.time)) return;
    if (items_.size() == kMost) items_.pop_back();
    const auto place = std::ranges::upper_bound(items_, item.time, std::greater<>(), &ItemTime::time);
    items_.insert(place, std::move(item));
  }
  const std::vector<ItemTime>& items() const { return items_; }

 private:
  std::vector<ItemTime> items_;
};

// A rank's share of a map.
struct RankShare {
  int rank = 0;
  int slots = 1;
  bool lost = false;  // it has ended, or its node is silent
  uint64_t done = 0;  // items that it committed
  uint64_t failed_attempts = 0;
  uint32_t granted = 0;  // items that are now its own
  uint32_t at_work = 0;  // of these
  Duration busy{};       // of all its slots together, failed attempts included

  friend bool operator==(const RankShare&, const RankShare&) = default;
};

enum class MapPhase : uint8_t {
  kOpening,  // its journal
  kAtWork,
  kOver,
  kFailed,
};

struct MapState {
  uint32_t number = 0;
  std::string subject;
  std::string journal;  // empty: it has none
  MapPhase phase = MapPhase::kOpening;
  bool time_is_up = false;
  Progress progress;
  Duration elapsed{};             // from the open journal to the end of the map
  std::vector<ItemTime> slowest;  // committed or abandoned by this run
  std::vector<ItemTime> longest;  // at work
  std::vector<ItemTime> failed;   // abandoned by this run: the first ones
  std::vector<RankShare> ranks;   // ascending

  // The part of its time in which the rank worked on items, 0 to 1.
  double BusyPart(const RankShare& rank) const {
    const double time = std::chrono::duration<double>(elapsed).count() * rank.slots;
    if (time <= 0) return 0;
    return std::min(std::chrono::duration<double>(rank.busy).count() / time, 1.0);
  }
  friend bool operator==(const MapState&, const MapState&) = default;
};

}  // namespace muster::map
