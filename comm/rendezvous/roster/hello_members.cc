#include "comm/rendezvous/roster/hello_members.h"

#include <algorithm>
#include <map>

#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {

void HelloMembers::Add(Source source, const Hello& hello) {
  for (const ProcessInfo& member : hello.members) below_.emplace_back(source, member);
}

int HelloMembers::Forget(Source source) {
  int ranks = 0;
  for (const auto& [from, member] : below_) {
    if (from == source) ranks += static_cast<int>(member.claims.size());
  }
  std::erase_if(below_, [source](const auto& entry) { return entry.first == source; });
  sent_ = std::min(sent_, below_.size() + 1);
  return ranks;
}

void HelloMembers::SetLostLeader(ProcessInfo leader) {
  if (!lost_leader_) lost_leader_ = std::move(leader);
}

std::vector<ProcessInfo> HelloMembers::Own() const {
  std::vector<ProcessInfo> members;
  if (lost_leader_) members.push_back(*lost_leader_);
  members.push_back(self_);
  return members;
}

bool HelloMembers::HasRankZero() const {
  const auto has = [](const ProcessInfo& member) {
    return std::ranges::count(member.claims, 0, &RankClaim::rank) > 0;
  };
  return std::ranges::any_of(Own(), has) ||
         std::ranges::any_of(below_, [&](const auto& entry) { return has(entry.second); });
}

std::vector<ProcessInfo> HelloMembers::TakeUnsent() {
  std::vector<ProcessInfo> unsent;
  if (sent_ == 0) unsent = Own();
  for (sent_ = std::max<size_t>(sent_, 1); sent_ <= below_.size(); ++sent_)
    unsent.push_back(below_[sent_ - 1].second);
  return unsent;
}

std::optional<Error> HelloMembers::FindSecondClaim(Source source) const {
  std::map<int, std::pair<Source, const ProcessInfo*>> first;
  for (const RankClaim& claim : self_.claims) first.emplace(claim.rank, std::pair(ChildLinks::kSelf, &self_));
  for (const auto& [from, member] : below_) {
    for (const RankClaim& claim : member.claims) {
      const auto& [other, process] = first.emplace(claim.rank, std::pair(from, &member)).first->second;
      if (from == source && other != source)
        return ClaimedTwice(claim.rank, {process->pid, process->node}, {member.pid, member.node});
    }
  }
  return std::nullopt;
}

}  // namespace muster::rendezvous
