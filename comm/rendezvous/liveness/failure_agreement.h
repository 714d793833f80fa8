// The first failure of the group, and the processes that have received it. Pure: the FailureNotifier sends
// and waits.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

class FailureAgreement {
 public:
  using Source = ChildLinks::Source;

  enum class Step {
    kNothing,        // the group has failed already, or an earlier failure is due
    kAgree,          // no process is above: this failure is the first
    kPassUp,         // the root decides, as about the failure before
    kPassUpAndWait,  // the root decides; unconfirmed() is the first if no answer comes in time
  };
  // A failure that this process found, or a process below reports.
  Step Find(const Failure& failure, bool has_upstream);
  // At the root: this rank has failed, and its failure is due; of several ranks the first counts. A failure on request
  // is no consequence of it.
  void Await(int rank) { due_.push_back(rank); }
  // No longer. The first failure, if it has come meanwhile.
  std::optional<Failure> StopAwaiting(int rank);
  // This process's finding that the root has not confirmed; null: none.
  const Failure* unconfirmed() const { return found_ && !failure_ ? &*found_ : nullptr; }

  // The group's first failure; it is sent to `below`. False: the group has failed already.
  bool Agree(Failure failure, bool from_above, std::set<Source> below);
  const std::optional<Failure>& failure() const { return failure_; }
  // The first failure, now that the process above is lost too: the earlier finding of this process, if any.
  const Failure& FirstWithoutUpstream(const Failure& loss) const { return found_ ? *found_ : loss; }
  // Another process has reported the failure to this one, and reports it to the user.
  bool from_parent() const { return from_parent_; }

  // This child has the failure, or never will.
  void Confirm(Source child) { unconfirmed_.erase(child); }
  // The children that have not confirmed are waited for no longer.
  std::set<Source> GiveUp() { return std::exchange(unconfirmed_, {}); }
  enum class Knows { kNotAll, kAllBelow, kAll };
  // kAll: once.
  Knows KnownBy(bool has_upstream);
  // From above: every rank has the failure. False: known already.
  bool MarkKnownByAll() { return !std::exchange(all_know_, true); }

 private:
  std::optional<Failure> found_;  // passed up
  std::vector<int> due_;
  std::vector<Failure> held_;  // the first, and those of ranks that were due
  std::optional<Failure> failure_;
  bool from_parent_ = false;
  std::set<Source> unconfirmed_;
  bool all_know_ = false;
};

}  // namespace muster::rendezvous
