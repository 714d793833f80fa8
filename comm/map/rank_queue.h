// The items of one rank, which begins them in the order of receipt. So those at work are the first ones not
// yet ended, up to its number of slots. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "comm/base/deadline.h"

namespace muster::map {

class RankQueue {
 public:
  struct Lease {
    uint64_t item = 0;
    Clock::time_point begun{};  // if it is at work

    friend bool operator==(const Lease&, const Lease&) = default;
  };

  void set_slots(int slots) { slots_ = slots; }
  int slots() const { return slots_; }  // 0: it has not joined

  // BeginNext follows the last one.
  void Add(uint64_t item, Clock::time_point now) {
    order_[item] = next_order_;
    leases_[next_order_++] = {item, now};
  }
  // A rank works on one item per slot.
  void BeginNext(Clock::time_point now) {
    auto next = leases_.lower_bound(next_to_begin_);
    for (; next != leases_.end() && at_work_ < slots_; ++next, ++at_work_) {
      next->second.begun = now;
      next_to_begin_ = next->first + 1;
    }
  }
  // True if it was there. The next one is begun.
  bool Remove(uint64_t item, Clock::time_point now) {
    const auto order = order_.find(item);
    if (order == order_.end()) return false;
    if (order->second < next_to_begin_) --at_work_;
    leases_.erase(order->second);
    order_.erase(order);
    BeginNext(now);
    return true;
  }
  // The items at work began later by this.
  void Postpone(Duration by) {
    for (auto& [order, lease] : leases_) lease.begun += by;
  }
  void Clear() {
    leases_.clear();
    order_.clear();
    at_work_ = 0;
  }

  bool empty() const { return leases_.empty(); }
  size_t size() const { return leases_.size(); }
  int at_work() const { return at_work_; }
  // Slots that no item is granted for.
  uint64_t free() const {
    const auto all = static_cast<uint64_t>(slots_);
    return all - std::min<uint64_t>(all, leases_.size());
  }
  const Lease& first() const { return leases_.begin()->second; }
  std::vector<Lease> AtWork() const {
    std::vector<Lease> leases;
    for (auto next = leases_.begin(); next != leases_.end() && next->first < next_to_begin_; ++next)
      leases.push_back(next->second);
    return leases;
  }
  std::vector<uint64_t> Waiting() const { return ItemsFrom(next_to_begin_); }
  std::vector<uint64_t> Items() const { return ItemsFrom(0); }

 private:
  std::vector<uint64_t> ItemsFrom(uint64_t order) const {
    std::vector<uint64_t> items;
    for (auto next = leases_.lower_bound(order); next != leases_.end(); ++next)
      items.push_back(next->second.item);
    return items;
  }

  int slots_ = 0;
  std::map<uint64_t, Lease> leases_;  // by the order in which they were granted
  std::unordered_map<uint64_t, uint64_t> order_;
  uint64_t next_order_ = 0;
  uint64_t next_to_begin_ = 0;  // by the same order
  int at_work_ = 0;
};

}  // namespace muster::map
