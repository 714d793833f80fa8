// The processes in the hellos of this process: itself and those below it. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// Whether the process is the one that has this rank in the roster.
bool IsMember(const Roster& roster, const ProcessInfo& process, const RankClaim& claim);

bool ClaimsRankZero(const ProcessInfo& process);

class HelloMembers {
 public:
  using Source = ChildLinks::Source;
  using Below = std::vector<std::pair<Source, ProcessInfo>>;

  // `self` must outlive it.
  explicit HelloMembers(const ProcessInfo& self) : self_(self) {}
  explicit HelloMembers(ProcessInfo&&) = delete;

  void Add(Source source, const Hello& hello);
  // No part of the group. Returns the number of its ranks.
  std::vector<ProcessInfo> Forget(Source source);
  // A leader that this process reports in its place, as a process that cannot join. The first counts.
  void SetLostLeader(ProcessInfo leader);
  // It was silent only.
  void ForgetLostLeader() { lost_leader_.reset(); }
  const std::optional<ProcessInfo>& lost_leader() const { return lost_leader_; }

  // The lost leader first: the root may have a place for this process, behind that leader.
  std::vector<ProcessInfo> Own() const;
  const Below& below() const { return below_; }
  bool HasRankZero() const;

  // Those that the present process above has not received, by node: a hello has one node's addresses. Own() comes first; its
  // addresses are for the caller to fill in. Without `other_nodes`: up to the first process of another node.
  std::vector<Hello> TakeUnsent(bool other_nodes = true);
  // There is another process above.
  void SendAllAgain() { sent_ = 0; }
  size_t sent() const { return sent_; }
  // The connections below with a hello that has been taken since sent() was `before`.
  std::set<Source> SentSince(size_t before) const;

  // The process at the other end: the first of its hello.
  const ProcessInfo& SpeakerOf(Source source) const;

  // Why the process at the other end is no part of the group that has formed: another process has its rank. Its hello was on
  // the way to the root when the group formed. Or the roster has the leader whose end it reports.
  std::optional<Error> FindSecondClaim(Source source, const Roster& roster) const;
  // The ranks behind a connection, without those of such processes.
  std::vector<int> RanksIn(Source source, const Roster& roster) const;

 private:
  const ProcessInfo& FirstLike(const ProcessInfo& process, int rank) const;

  const ProcessInfo& self_;
  std::optional<ProcessInfo> lost_leader_;
  Below below_;
  std::map<std::string, std::vector<std::string>> addresses_;  // of other nodes
  size_t sent_ = 0;                                            // 1 for Own(), and one for each below
};

}  // namespace muster::rendezvous
