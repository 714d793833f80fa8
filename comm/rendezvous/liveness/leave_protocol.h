// The ranks that have left the group, the leave messages that the process above has not received, and whether
// this process may exit. Pure: Leaving sends, and waits.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "comm/base/error.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/roster.h"

namespace muster::rendezvous {

class LeaveProtocol {
 public:
  using Source = ChildLinks::Source;
  using Children = std::map<Source, std::vector<int>>;  // the ranks behind each connection from below

  // `roster` must outlive this.
  LeaveProtocol(const Roster& roster, bool is_root, std::vector<int> own_ranks, Children children);

  enum class PassUp { kNever, kSoon, kNow };
  struct Taken {
    std::set<int> left;  // the ranks that had not left before
    PassUp pass_up = PassUp::kNever;
    std::vector<Source> released;  // children whose ranks have all left, the last of them now
  };
  // A leave message. `has_upstream`: the process above is still connected.
  Taken Take(const std::vector<int>& ranks, bool has_upstream);
  // The ranks to pass up, once.
  std::vector<int> TakeUnsent() { return std::exchange(unsent_, {}); }
  // This process exits before the ranks below: for the processes above, those ranks have left.
  void TakeOrphans();
  // The connection has ended.
  void Forget(Source child) { children_.erase(child); }

  // The own ranks are done. False: they were before.
  bool Begin() { return !std::exchange(leaving_, true); }
  enum class End { kNotYet, kWhenChildrenAreGone, kNow };
  End MayEnd(bool has_upstream) const;
  // False: released before.
  bool Release() { return !std::exchange(released_, true); }
  bool released() const { return released_; }

  const std::set<int>& left() const { return left_; }
  // The connection from below that leads to the rank; kSelf: none.
  Source ChildOf(int rank) const;
  // Such a connection has not ended.
  bool IsBelow(int rank) const;
  bool HasLeft(int rank) const { return left_.contains(rank); }
  bool AllHaveLeft(const std::vector<int>& ranks) const;
  // Why a new process cannot be this rank: the rank is at work. Absent if it has left, or is not known here.
  std::optional<Error> FindAtWork(int rank) const;

 private:
  bool AllBelowHaveLeft() const;
  bool KnowsOf(int rank) const;

  const Roster& roster_;
  const bool is_root_;
  const std::vector<int> own_ranks_;
  Children children_;
  std::vector<std::pair<int, Source>> child_of_rank_;  // by rank, those below alone
  std::set<int> left_;
  std::vector<int> unsent_;
  bool leaving_ = false;
  bool released_ = false;
};

}  // namespace muster::rendezvous
