// A rank at work on a map: takes items, runs an attempt at each, and returns what came of it. A thread for each slot.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "bootstrap/map/attempt.h"
#include "bootstrap/map/items/item_source.h"
#include "bootstrap/map/slots.h"
#include "bootstrap/map/stop_flag.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/map/member.h"

namespace muster::map {

class Worker {
 public:
  struct Slot {
    AttemptSlot attempt;
    std::vector<int> cores;  // empty: as they are
  };

  // All of these outlive the worker.
  Worker(Member& member, const ItemSource& items, const AttemptPlan& plan, std::vector<Slot> slots)
      : member_(member), items_(items), plan_(plan), slots_(std::move(slots)) {}

  // BLOCKS until there are no more items for this rank. Error: the first of a slot's:
  // Member::Next's, also the group's failure; or this rank can attempt nothing. The items in work are given back.
  Status Run(const Group* group = nullptr);

  // Takes no more items, ends those in work and gives them back: Run returns within plan.grace and some
  // seconds. Any thread, any number of times.
  void Stop();

 private:
  void Serve(const Slot& slot);
  Status ServeOne(const Slot& slot, const Item& taken, NextDirectory& directory);
  void AwaitIdle(const Group* group);
  void Broke(const Error& error);

  Member& member_;
  const ItemSource& items_;
  const AttemptPlan& plan_;
  const std::vector<Slot> slots_;
  const StopFlag stop_;
  const StopFlag idle_;  // all slots have ended
  std::atomic<size_t> working_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;  // the first
};

}  // namespace muster::map
