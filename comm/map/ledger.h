// The root's record of a map: the ranks of items, and the next grants and recalls. A value: no socket, no
// file; the time is an argument.
//
// Batches are guided self-scheduling (Polychronopoulos and Kuck, IEEE Transactions on Computers 36(12),
// 1987): a share of the remaining items, so they are large first and single items at the end. A batch lasts
// at most kBatchTime, by the duration of the rank's items so far. An item that takes longer, or an unknown
// time, is granted only to a free slot, because it would wait behind other items. Once nothing is left to
// grant and a slot is free, ranks return the items that they have not begun.
//
// No message causes a loop over all ranks, as there may be thousands.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/map/item_book.h"
#include "comm/map/rank_queue.h"
#include "comm/map/state.h"
#include "comm/map/working_ranks.h"

namespace muster::map {

// Of work that a batch holds at most.
inline constexpr Duration kBatchTime = std::chrono::milliseconds(50);
inline constexpr uint64_t kLongestBatch = 4096;

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

  Ledger(uint64_t items, int retries) : items_(items, retries) {}

  const ItemBook& items() const { return items_; }
  // As those of ItemBook.
  void Resume(uint64_t item, bool poisoned, uint8_t took) { items_.Resume(item, poisoned, took); }
  void Classify(uint64_t first, std::span<const uint8_t> classes) { items_.Classify(first, classes); }
  // Also recalls items of closed classes that were not begun.
  bool Limit(Duration left);

  void Join(RankPlace place, int slots);
  // The rank needs more items.
  void Want(int rank);
  // The rank takes no further items; those that it has stay its own.
  void Stop(int rank);
  // It has ended or is silent: its items return, and a try is counted for those at work. Result: the number
  // of returned items; those that have now failed too often in `poisoned`.
  struct Lost {
    uint64_t returned = 0;
    std::vector<GrantedItem> poisoned;
  };
  Lost Lose(int rank);
  // It is silent, but may come back: its items also go to other ranks. It is granted nothing until Hear.
  uint64_t Share(int rank);
  void Touch(int rank);
  // All ranks were suspended for `stall`.
  void Postpone(Duration stall);
  bool IsSilent(int rank) const;

  Verdict Commit(int rank, uint64_t item, Duration took, Clock::time_point now);
  Verdict Fail(int rank, uint64_t item, Duration took, Clock::time_point now);
  void GiveBack(int rank, const std::vector<uint64_t>& items, Clock::time_point now);

  // The grants that are due.
  std::vector<Grant> TakeGrants(Clock::time_point now);
  // Ranks to recall items from that they have not begun, because other ranks wait or the time is up: those
  // with items and without a recall within `again`. Follows TakeGrants.
  std::vector<int> TakeRecalls(Clock::time_point now, Duration again);
  // Ranks with an item that has been at work for longer than `limit`, and that item.
  std::vector<std::pair<int, uint64_t>> FindOverdue(Clock::time_point now, Duration limit) const;
  // Nothing is at work and nothing will be granted.
  bool IsOver() const { return items_.progress().granted == 0 && items_.Grantable() == 0; }
  // Nothing is at work, and no rank of the ledger takes further items.
  bool AllStopped() const { return items_.progress().granted == 0 && going_ == 0; }

  // Of all ranks that have joined, ascending.
  std::vector<RankShare> Shares(Clock::time_point now) const;
  LongestItems LongestAtWork(Clock::time_point now) const;

 private:
  struct Worker {
    int node = 0;
    RankQueue queue;
    bool wants = false;
    bool stopped = false;
    bool silent = false;
    Clock::time_point asked{};  // time of the last recall; {}: none since its last grant
    uint64_t done = 0;
    Duration busy{};  // on these
    uint64_t failed_attempts = 0;
    Duration failing{};

    uint64_t slots() const { return static_cast<uint64_t>(queue.slots()); }
    // Of an item; once there is one.
    Duration Mean() const { return busy / static_cast<Duration::rep>(done); }
  };

  void File(int rank, const Worker& worker);
  void Forget(int rank);
  uint64_t ReturnAll(const std::vector<uint64_t>& items);
  bool Remove(int rank, uint64_t item, Clock::time_point now);
  RankShare ShareOf(int rank, const Worker& worker) const;
  uint64_t MostFor(const Worker& worker) const;
  Duration ExpectNext(const Worker& worker) const;
  std::optional<GrantedItem> TakeItem(int rank, const Worker& worker);
  Grant TakeGrant(int rank, Worker& worker, Clock::time_point now);

  ItemBook items_;
  std::map<int, Worker> workers_;
  std::map<int, RankShare> gone_;
  std::set<int> idle_;     // ranks that want items, and have a free slot
  std::set<int> ahead_;    // ranks that want items, and have none; their items may be short
  std::set<int> unasked_;  // with items, and without a recall since these were granted
  std::deque<std::pair<Clock::time_point, int>> asked_;  // time of each rank's recall, ascending
  uint64_t going_ = 0;                                   // ranks that have not stopped
  uint64_t going_slots_ = 0;
  WorkingRanks working_;   // neither stopped nor silent
  bool unsuited_ = false;  // ranks of idle_ wait, although items are left: these failed there
  bool recall_ = false;    // a class was closed: its items that were not begun are recalled
};

}  // namespace muster::map
