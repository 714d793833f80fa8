// The items of a map: ended ones, granted ones, the next one, and their durations. A value: it uses ranks and
// nodes only as the places at which an item failed.
//
// If items have classes, the class with the longest average goes first, so that none of its items is begun
// late. The first item of a class without a result is granted as soon as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/map/journal/durations.h"
#include "comm/map/options.h"
#include "comm/map/state.h"
#include "comm/map/working_ranks.h"

namespace muster::map {

inline constexpr int kMostRetries = 30;
inline constexpr uint64_t kMostItems = 1'000'000'000;

struct GrantedItem {
  uint64_t index = 0;
  uint32_t attempt = 1;

  friend bool operator==(const GrantedItem&, const GrantedItem&) = default;
};

class ItemBook {
 public:
  ItemBook(uint64_t items, int retries);

  // By an earlier run, and how long it took there (ShortTime).
  void Resume(uint64_t item, bool poisoned, uint8_t took);
  // The classes of the items from `first` on (Options::classes). At any time; until then all are of one class.
  void Classify(uint64_t first, std::span<const uint8_t> classes);

  // The next item for this rank, which is one of `working`. An item that failed on its node is for another node,
  // if one works on which it did not fail; else it is for another rank than the one on which it failed last.
  std::optional<GrantedItem> Take(RankPlace place, const WorkingRanks& working);
  // Then these are left, for a rank that is the only one at work.
  bool HasReturned() const { return !returned_.empty(); }
  GrantedItem TakeReturned() { return Grant(TakeReturned(returned_.begin())); }
  // A granted item that was not begun.
  void Return(uint64_t item);
  // A granted item failed on this rank. True: it failed too often, and is abandoned.
  bool Fail(uint64_t item, RankPlace place);
  // False: it had ended before.
  bool Commit(uint64_t item, Duration took);

  // `left` is the time for an item. A class is closed, without further grants, once that is less than the
  // time in which 95 of 100 of its items ended. For a class with few results twice its longest item counts,
  // for a class without results all items. No class is closed while there is time for the longest item of
  // all. True: a further class is closed.
  bool Limit(Duration left);
  // All classes are.
  bool closed() const;

  bool Has(uint64_t item) const { return item < states_.size(); }
  bool IsGranted(uint64_t item) const { return StateOf(item) == State::kGranted; }
  uint32_t AttemptsOf(uint64_t item) const { return states_[item] >> kAttemptShift; }
  uint64_t Grantable() const;
  // Items of closed classes that no rank has.
  uint64_t held_back() const { return progress_.left() - progress_.granted - Grantable(); }
  bool classified() const { return !classes_.empty(); }
  // Expected duration of the next item of the class that is due; zero: not known, or there is none.
  Duration ExpectNext() const;
  const Progress& progress() const { return progress_; }

 private:
  enum class State : uint8_t { kPending, kGranted, kCommitted, kPoisoned };
  static constexpr int kAttemptShift = 2;
  struct Class {
    bool closed = false;
    uint64_t pending = 0;
    uint64_t fresh = 0;  // its items from here on were never granted
    Durations durations;
  };

  struct Failures {
    int last_rank = 0;
    std::set<int> nodes;
  };

  bool Suits(uint64_t item, RankPlace place, const WorkingRanks& working) const;
  State StateOf(uint64_t item) const { return static_cast<State>(states_[item] & 3); }
  void Set(uint64_t item, State state);
  void CountAttempt(uint64_t item);
  uint8_t ClassOf(uint64_t item) const { return classes_.empty() ? uint8_t{0} : classes_[item]; }
  const Class* NextClass() const;
  GrantedItem Grant(uint64_t item);
  std::optional<uint64_t> TakeFresh();
  uint64_t TakeReturned(std::set<uint64_t>::iterator place);

  const int retries_;
  // State and tries of each item in a byte: ten million items are ten megabytes, and ten more with their classes.
  std::vector<uint8_t> states_;
  std::vector<uint8_t> classes_;  // empty: all are of class 0
  std::vector<Class> by_class_{1};
  std::vector<uint8_t> took_;                         // of items of earlier runs; empty: there are none
  std::set<uint64_t> returned_;                       // of classes that are not closed
  std::unordered_map<uint64_t, Failures> failed_at_;  // other places are better
  Progress progress_;
  Durations durations_;
  Duration longest_{};  // no item took longer
};

}  // namespace muster::map
