// Carries the group's first failure through the tree. A finding goes up, the root's decision (failure_agreement.h)
// goes down, and each process confirms it once all below have.
//
//   up    FailureDue, Failure, FailureKnown       down  Failure, AllKnow
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/rendezvous/liveness/failure_agreement.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class FailureNotifier {
 public:
  using Source = ChildLinks::Source;
  struct Events {
    std::function<void()> on_pass_up;  // a finding is about to go up: earlier messages must go first
    std::function<void(const Failure&)> on_failure;  // once
    std::function<void()> on_all_know;               // once, after on_failure
    std::function<void(Source)> on_give_up;          // this child has not confirmed in time
  };

  // `log_file`: of this process, if it is the root.
  FailureNotifier(TreeLinks& links, uint64_t log_file, Events events)
      : links_(links), log_file_(log_file), events_(std::move(events)) {}
  FailureNotifier(const FailureNotifier&) = delete;
  FailureNotifier& operator=(const FailureNotifier&) = delete;
  ~FailureNotifier();

  const std::optional<Failure>& failure() const { return failures_.failure(); }
  // Another process has sent the failure to this one, and reports it to users.
  bool from_parent() const { return failures_.from_parent(); }

  // A finding of this process or of one below.
  void Fail(const Failure& failure);
  // A failure of the rank follows within this time; until then none of another rank is the first.
  void Await(int rank, Duration within) { Await({rank, MillisecondsLeft(Deadline::After(within))}); }
  void Await(const FailureDue& due);
  void ReceiveFromParent(ByteView frame);
  void ReceiveFromChild(Source source, ByteView frame);
  // Without the process above, this process decides.
  void LoseUpstream(const Failure& loss);
  // A child has ended or is silent: it confirms nothing more.
  void Forget(Source source);

 private:
  void Announce(Failure failure, bool from_above = false);
  void GiveUp();
  void CheckAllKnow();

  TreeLinks& links_;
  const uint64_t log_file_;
  const Events events_;
  FailureAgreement failures_;
  net::Timer confirmation_timer_;
  net::Timer give_up_timer_;
  std::vector<net::Timer> due_timers_;
};

}  // namespace muster::rendezvous
