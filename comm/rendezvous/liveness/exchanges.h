// The keyed all-gathers of a formed group: parts go up to the root, complete ones come down. The root's clocks;
// exchange_tracker.h decides.
//
//   up    KeyedAllGather       down  KeyedAllGathered
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "comm/rendezvous/liveness/exchange_tracker.h"
#include "comm/rendezvous/liveness/leave_protocol.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class Exchanges {
 public:
  struct Events {
    std::function<void(const KeyedAllGather&)> on_gathered;  // complete, entries in rank order
    std::function<void(const Failure&)> fail;                // at the root
  };

  // `roster` and `leaves` must outlive this.
  Exchanges(TreeLinks& links, const Roster& roster, const LeaveProtocol& leaves, size_t own_ranks,
            Events events);
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // A part of own ranks or of ranks below.
  void Contribute(const KeyedAllGather& part);
  void ReceiveFromParent(ByteView frame);
  void ReceiveFromChild(ByteView frame);
  // At the root: they have ended with their process while a map was at work.
  void Lose(const std::vector<int>& ranks);
  // No rank waits for one that has left.
  void CheckHopeless(const std::set<int>& left);

 private:
  // On the way up.
  struct Collected {
    KeyedAllGather part;
    net::Timer timer;
  };
  // The earliest end of the ranks' waits.
  struct Limit {
    Deadline end = Deadline::Never();
    net::Timer timer;
  };
  void LimitTo(const std::string& name, Duration limit);
  void Collect(const KeyedAllGather& part);
  void PassUp(const std::string& name);
  void Complete(const KeyedAllGather& whole);
  void Publish(const KeyedAllGather& whole);

  TreeLinks& links_;
  const LeaveProtocol& leaves_;
  const Events events_;
  ExchangeTracker tracker_;  // the root's
  size_t ranks_here_;        // of this process and of those below
  std::map<std::string, Collected> collected_;
  std::map<std::string, Limit> limits_;  // the root's
};

}  // namespace muster::rendezvous
