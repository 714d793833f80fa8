#include "comm/rendezvous/liveness/leave_protocol.h"

#include <algorithm>
#include <iterator>

namespace muster::rendezvous {

LeaveProtocol::LeaveProtocol(const Roster& roster, bool is_root, std::vector<int> own_ranks,
                             Children children)
    : roster_(roster), is_root_(is_root), own_ranks_(std::move(own_ranks)), children_(std::move(children)) {
  for (const auto& [source, ranks] : children_) {
    for (const int rank : ranks) child_of_rank_.emplace_back(rank, source);
  }
  std::ranges::sort(child_of_rank_);
}

LeaveProtocol::Source LeaveProtocol::ChildOf(int rank) const {
  const auto after = std::ranges::upper_bound(child_of_rank_, rank, {}, &std::pair<int, Source>::first);
  const bool found = after != child_of_rank_.begin() && std::prev(after)->first == rank;
  return found ? std::prev(after)->second : ChildLinks::kSelf;
}

LeaveProtocol::Taken LeaveProtocol::Take(const std::vector<int>& ranks, bool has_upstream) {
  Taken taken;
  // Only the children of these ranks: with a thousand nodes, all would be scanned a thousand times.
  std::set<Source> sources;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= roster_.size() || !left_.insert(rank).second) continue;
    taken.left.insert(rank);
    // Two if the hello of a leader that had been stopped came after the rank's own.
    for (const auto& [below, source] :
         std::ranges::equal_range(child_of_rank_, rank, {}, &std::pair<int, Source>::first))
      sources.insert(source);
  }
  for (const Source source : sources) {
    const auto child = children_.find(source);
    if (child != children_.end() && AllHaveLeft(child->second)) taken.released.push_back(source);
  }
  if (!has_upstream) return taken;
  unsent_.insert(unsent_.end(), ranks.begin(), ranks.end());
  // The ranks of a node end together: theirs are collected for a moment, unless they are the last.
  taken.pass_up = AllBelowHaveLeft() ? PassUp::kNow : PassUp::kSoon;
  return taken;
}

void LeaveProtocol::TakeOrphans() {
  for (const auto& [source, ranks] : children_) {
    std::ranges::copy_if(ranks, std::back_inserter(unsent_), [this](int rank) { return !HasLeft(rank); });
    left_.insert(ranks.begin(), ranks.end());
  }
}

bool LeaveProtocol::AllHaveLeft(const std::vector<int>& ranks) const {
  return std::ranges::all_of(ranks, [this](int rank) { return HasLeft(rank); });
}

bool LeaveProtocol::AllBelowHaveLeft() const {
  return AllHaveLeft(own_ranks_) &&
         std::ranges::all_of(children_, [this](const auto& child) { return AllHaveLeft(child.second); });
}

// Below the root a process waits for its release from above; without a process above, the own node decides.
LeaveProtocol::End LeaveProtocol::MayEnd(bool has_upstream) const {
  const bool needed = is_root_ ? std::cmp_less(left_.size(), roster_.size())
                               : has_upstream || !leaving_ || !AllBelowHaveLeft();
  if (released_ || needed) return End::kNotYet;
  return children_.empty() ? End::kNow : End::kWhenChildrenAreGone;
}

bool LeaveProtocol::IsBelow(int rank) const {
  return std::ranges::any_of(
      std::ranges::equal_range(child_of_rank_, rank, {}, &std::pair<int, Source>::first),
      [this](const auto& entry) { return children_.contains(entry.second); });
}

// A leader has no information on leaving ranks of its node that are connected to the root.
bool LeaveProtocol::KnowsOf(int rank) const {
  if (rank < 0 || rank >= roster_.size()) return false;
  if (is_root_ || roster_.NodeOf(rank) != roster_.NodeOf(own_ranks_.front())) return true;
  return std::ranges::count(own_ranks_, rank) > 0 || IsBelow(rank);
}

std::optional<Error> LeaveProtocol::FindAtWork(int rank) const {
  if (!KnowsOf(rank) || HasLeft(rank)) return std::nullopt;
  return Error{
      Code::kDisagreement,
      fmt::format("{} is already at work in this launch's present group, as pid {}",
                  DescribeRank(roster_, rank), roster_.members[static_cast<size_t>(rank)].pid),
      "use two steps, because two programs of one rank cannot run at the same time; launches by hand that "
      "run at the same time need a MASTER_PORT each"};
}

}  // namespace muster::rendezvous
