#include "comm/rendezvous/roster/hello_members.h"

#include <algorithm>

#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {

bool IsMember(const Roster& roster, const ProcessInfo& process, const RankClaim& claim) {
  return claim.rank >= 0 && claim.rank < roster.size() &&
         roster.members[static_cast<size_t>(claim.rank)].pid == process.pid &&
         roster.NodeName(claim.rank) == process.node;
}

bool ClaimsRankZero(const ProcessInfo& process) {
  return std::ranges::count(process.claims, 0, &RankClaim::rank) > 0;
}

void HelloMembers::Add(Source source, const Hello& hello) {
  for (const ProcessInfo& member : hello.members) {
    below_.emplace_back(source, member);
    if (member.node != self_.node) addresses_.try_emplace(member.node, hello.addresses);
  }
}

std::vector<ProcessInfo> HelloMembers::Forget(Source source) {
  std::vector<ProcessInfo> forgotten;
  size_t sent = sent_;
  for (size_t i = 0; i < below_.size(); ++i) {
    auto& [from, member] = below_[i];
    if (from != source) continue;
    forgotten.push_back(std::move(member));
    if (i + 1 < sent_) --sent;
  }
  std::erase_if(below_, [source](const auto& entry) { return entry.first == source; });
  sent_ = sent;
  return forgotten;
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
  return std::ranges::any_of(Own(), ClaimsRankZero) ||
         std::ranges::any_of(below_, ClaimsRankZero, &Below::value_type::second);
}

std::vector<Hello> HelloMembers::TakeUnsent(bool other_nodes) {
  std::vector<Hello> unsent;
  if (sent_ == 0) unsent.push_back({{}, Own()});
  for (sent_ = std::max<size_t>(sent_, 1); sent_ <= below_.size(); ++sent_) {
    const ProcessInfo& member = below_[sent_ - 1].second;
    if (!other_nodes && member.node != self_.node) break;
    if (!unsent.empty() && unsent.back().members.back().node == member.node) {
      unsent.back().members.push_back(member);
      continue;
    }
    const auto addresses = addresses_.find(member.node);
    unsent.push_back(
        {addresses == addresses_.end() ? std::vector<std::string>{} : addresses->second, {member}});
  }
  return unsent;
}

std::set<HelloMembers::Source> HelloMembers::SentSince(size_t before) const {
  std::set<Source> sources;
  for (size_t i = std::max<size_t>(before, 1); i < sent_; ++i) sources.insert(below_[i - 1].first);
  return sources;
}

const ProcessInfo& HelloMembers::SpeakerOf(Source source) const {
  return std::ranges::find(below_, source, &Below::value_type::first)->second;
}

// Of two processes with one pid, each in a container of its own, the first has gone up first.
const ProcessInfo& HelloMembers::FirstLike(const ProcessInfo& process, int rank) const {
  const auto is_like_it = [&](const ProcessInfo& other) {
    return other.pid == process.pid && other.node == process.node &&
           std::ranges::count(other.claims, rank, &RankClaim::rank) > 0;
  };
  if (is_like_it(self_)) return self_;
  return std::ranges::find_if(below_, is_like_it, &Below::value_type::second)->second;
}

std::optional<Error> HelloMembers::FindSecondClaim(Source source, const Roster& roster) const {
  const ProcessInfo& speaker = SpeakerOf(source);
  if (speaker.refused) return speaker.refused;
  for (const RankClaim& claim : speaker.claims) {
    if (claim.rank < 0 || claim.rank >= roster.size()) continue;
    if (IsMember(roster, speaker, claim) && FirstLike(speaker, claim.rank).id == speaker.id) continue;
    const int pid = roster.members[static_cast<size_t>(claim.rank)].pid;
    return ClaimedTwice(claim.rank, {pid, roster.NodeName(claim.rank)}, {speaker.pid, speaker.node});
  }
  return std::nullopt;
}

std::vector<int> HelloMembers::RanksIn(Source source, const Roster& roster) const {
  std::vector<int> ranks;
  for (const auto& [from, member] : below_) {
    if (from != source) continue;
    for (const RankClaim& claim : member.claims) {
      if (IsMember(roster, member, claim) && FirstLike(member, claim.rank).id == member.id)
        ranks.push_back(claim.rank);
    }
  }
  return ranks;
}

}  // namespace muster::rendezvous
