// Ranks that leave the group, and the exit of this process: sends the decisions of leave_protocol.h.
//
//   up    Leave       down  Released, Retired
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "comm/rendezvous/liveness/leave_protocol.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class Leaving {
 public:
  struct Events {
    std::function<void(const std::set<int>& ranks)> on_left;  // they had not left before
    std::function<void()> on_released;                        // once: this process may exit
    std::function<void()>
        on_pass_up;  // leave messages are about to go up: the reports of those ranks go first
    std::function<bool()> has_failed;  // the group: it ends with exit reports, not with leave messages
  };

  // `roster` must outlive this.
  Leaving(TreeLinks& links, const Roster& roster, std::vector<int> own_ranks, Events events);
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

  const LeaveProtocol& protocol() const { return protocol_; }
  // The own ranks are done. on_released follows when no process needs this one: for most immediately, for a leader when
  // its node's ranks have left, for the root when all have.
  void Leave();
  // Ranks below, or ranks that are lost.
  void Take(const std::vector<int>& ranks);
  // The leave messages that are collected go up immediately.
  void SendUnsent();
  // This process exits although other processes need it; they go on without it.
  void Retire();
  void Forget(ChildLinks::Source child) { protocol_.Forget(child); }
  void CheckReleased();
  // By the process above, or because no process needs this one.
  void Release();

 private:
  void ReleaseChildren();

  TreeLinks& links_;
  const std::vector<int> own_ranks_;
  const Events events_;
  LeaveProtocol protocol_;
  std::vector<ChildLinks::Source> to_release_;  // once their leave messages have gone up
  net::Timer collect_timer_;
  net::Timer release_timer_;
};

}  // namespace muster::rendezvous
