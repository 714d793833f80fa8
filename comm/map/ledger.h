// The root's book of a map: which item is whose, and what is to be granted or asked back next. A value: no socket, no
// file; the time is an argument.
//
// Batches are guided self-scheduling (Polychronopoulos and Kuck, IEEE Transactions on Computers 36(12), 1987): a
// share of what is left, so that they are large first and single items at the end; never more than a rank needs for
// kBatchTime, by the time its items took so far. An item that takes longer than that, or an unknown time, is granted
// to a free slot only: it would wait behind others. Once nothing is left to grant and a slot is free, ranks give back
// what they have not begun.
//
// If items have classes, those of the class that takes longest on average go first, so that none of them is begun
// late. Of a class without a result the first is granted as soon as possible.
//
// Nothing here looks at all ranks for a message, as there may be thousands.
//
// A rank begins its items in the order in which it received them: so the first ones not yet ended, as many as it has
// slots, are those at work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/map/journal/durations.h"
#include "comm/map/options.h"
#include "comm/map/state.h"

namespace muster::map {

// Of work that a batch holds at most.
inline constexpr Duration kBatchTime = std::chrono::milliseconds(50);
inline constexpr uint64_t kLongestBatch = 4096;
inline constexpr int kMostRetries = 30;
inline constexpr uint64_t kMostItems = 1'000'000'000;

struct GrantedItem {
  uint64_t index = 0;
  uint32_t attempt = 1;

  friend bool operator==(const GrantedItem&, const GrantedItem&) = default;
};

class Ledger {
 public:
  struct Grant {
    int rank = 0;
    std::vector<GrantedItem> items;

    friend bool operator==(const Grant&, const Grant&) = default;
  };
  enum class Verdict : uint8_t {
    kTaken,
    kAgain,     // failed: it will be granted once more
    kPoisoned,  // failed too often
    kIgnored,   // it has ended already, or never was this rank's
  };

  Ledger(uint64_t items, int retries);

  // By an earlier run, and how long it took there (ShortTime).
  void Resume(uint64_t item, bool poisoned, uint8_t took);
  // The classes of the items from `first` on (Options::classes). At any time; until then all are of one class.
  void Classify(uint64_t first, std::span<const uint8_t> classes);

  void Join(int rank, int slots);
  // The rank needs more items.
  void Want(int rank);
  // The rank asks for no more; its items stay its own.
  void Stop(int rank);
  // It has ended, or nothing is heard from it: its items go back, and a try is counted for those at work. How many
  // went back; those that have now failed too often in `poisoned`.
  struct Lost {
    uint64_t returned = 0;
    std::vector<GrantedItem> poisoned;
  };
  Lost Lose(int rank);
  // Nothing is heard from it, but it may come back: its items go to others too. It is granted nothing until Hear.
  uint64_t Share(int rank);
  void Hear(int rank);
  bool IsSilent(int rank) const;

  Verdict Commit(int rank, uint64_t item, Duration took, Clock::time_point now);
  Verdict Fail(int rank, uint64_t item, Duration took, Clock::time_point now);
  void GiveBack(int rank, const std::vector<uint64_t>& items, Clock::time_point now);

  // No more grants: the time is up.
  void Close();
  // `left` is there for an item. A class is closed once it is less than 95 of 100 of its items took: no more grants
  // of it, and its items that were not begun are asked back. Of a class with few results twice its longest counts, of
  // one without any all items; none is closed while there is time for the longest item of all.
  // True: a further class is closed.
  bool Limit(Duration left);
  // All classes are.
  bool closed() const;
  // Items of closed classes that no rank has.
  uint64_t held_back() const { return Pending() - Grantable(); }

  // What to grant now.
  std::vector<Grant> TakeGrants(Clock::time_point now);
  // Ranks to ask for what they have not begun, because others wait or the time is up: those that have items and were
  // not asked within `again`.
  std::vector<int> TakeRecalls(Clock::time_point now, Duration again);
  // Ranks with an item that has been at work for longer than `limit`, and that item.
  std::vector<std::pair<int, uint64_t>> FindOverdue(Clock::time_point now, Duration limit) const;
  // Nothing is at work and nothing will be granted.
  bool IsOver() const;
  bool AllEnded() const { return progress_.left() == 0; }
  // Nothing is at work, and no rank of the ledger asks for more.
  bool AllStopped() const { return progress_.granted == 0 && going_ == 0; }

  uint32_t AttemptsOf(uint64_t item) const { return states_[item] >> kAttemptShift; }
  const Progress& progress() const { return progress_; }
  const Durations& durations() const { return durations_; }
  // Unfinished items of a rank, in the order in which it works on them.
  std::vector<uint64_t> ItemsOf(int rank) const;
  // Of all ranks that have joined, ascending.
  std::vector<RankShare> Shares(Clock::time_point now) const;
  LongestItems LongestAtWork(Clock::time_point now) const;

 private:
  enum class State : uint8_t { kPending, kGranted, kCommitted, kPoisoned };
  static constexpr int kAttemptShift = 2;
  struct Lease {
    uint64_t item = 0;
    Clock::time_point begun{};
  };
  struct Worker {
    int slots = 0;  // before it has joined
    bool wants = false;
    bool stopped = false;
    bool silent = false;
    std::map<uint64_t, Lease> items;  // by the order in which they were granted
    std::unordered_map<uint64_t, uint64_t> order;
    uint64_t next_order = 0;
    uint64_t next_to_begin = 0;  // by the same order
    int at_work = 0;
    Clock::time_point asked{};  // for what it has not begun; {}: not since it was granted something

    // That no item is granted for.
    uint64_t free() const {
      const auto all = static_cast<uint64_t>(slots);
      return all - std::min<uint64_t>(all, items.size());
    }
    // Of an item; once there is one.
    Duration Mean() const { return busy / static_cast<Duration::rep>(done); }
    uint64_t done = 0;
    Duration busy{};  // on these
    uint64_t failed_attempts = 0;
    Duration failing{};
  };
  struct Class {
    bool closed = false;
    uint64_t pending = 0;
    uint64_t fresh = 0;  // its items from here on were never granted
    Durations durations;
  };

  State StateOf(uint64_t item) const { return static_cast<State>(states_[item] & 3); }
  void Set(uint64_t item, State state);
  void CountAttempt(uint64_t item);
  void File(int rank, const Worker& worker);
  void Forget(int rank);
  static void BeginNext(Worker& worker, Clock::time_point now);
  bool Remove(int rank, uint64_t item, Clock::time_point now);
  RankShare ShareOf(int rank, const Worker& worker) const;
  void Return(uint64_t item);
  bool Poison(uint64_t item);
  uint64_t Pending() const { return progress_.left() - progress_.granted; }
  uint64_t Grantable() const;
  uint8_t ClassOf(uint64_t item) const { return classes_.empty() ? uint8_t{0} : classes_[item]; }
  uint64_t MostFor(const Worker& worker) const;
  Duration ExpectNext(const Worker& worker);
  Grant TakeGrant(int rank, Worker& worker, Clock::time_point now);
  Class* NextClass();
  std::optional<uint64_t> TakeFresh();
  std::optional<uint64_t> TakePending(int rank);
  uint64_t TakeReturned(std::set<uint64_t>::iterator place);

  const int retries_;
  // State and tries of each item in a byte: ten million items are ten megabytes, and ten more with their classes.
  std::vector<uint8_t> states_;
  std::vector<uint8_t> classes_;  // empty: all are of class 0
  std::vector<Class> by_class_{1};
  std::vector<uint8_t> took_;                    // of items of earlier runs; empty: there are none
  std::set<uint64_t> returned_;                  // of classes that are not closed
  std::unordered_map<uint64_t, int> failed_at_;  // which rank an item failed at last: another one is better
  std::map<int, Worker> workers_;
  std::map<int, RankShare> gone_;
  std::set<int> idle_;     // ranks that want, and have a free slot
  std::set<int> ahead_;    // ranks that want, and have none; their items may be short
  std::set<int> unasked_;  // with items, and not asked since these were granted
  std::deque<std::pair<Clock::time_point, int>> asked_;  // when each rank was asked, ascending
  uint64_t going_ = 0;                                   // ranks that have not stopped
  uint64_t going_slots_ = 0;
  Progress progress_;
  Durations durations_;
  Duration longest_{};   // no item took longer
  bool recall_ = false;  // a class was closed: its items that were not begun are asked back
};

}  // namespace muster::map
