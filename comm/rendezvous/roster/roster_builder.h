// The root's picture of a group that is forming: present ranks, missing ranks with their nodes, and
// disagreements. Pure: the root passes arrivals to it and takes the texts from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/meeting.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// Ranks of one node.
Failure EndedWhileForming(std::vector<int> ranks, const std::string& node);

class RosterBuilder {
 public:
  // A connection to the root, or the root's own process.
  using Source = uint64_t;

  // `self`: the root's own process, with its claims.
  RosterBuilder(ProcessInfo self, Placement placement);

  const Placement& placement() const { return placement_; }
  // A layout that became known later: missing ranks are named by it. Ignored for another world size.
  void SetPlacement(Placement placement);

  // Whether the root reaches a node of the placement from which nothing has arrived.
  void SetReached(const std::string& node, bool reached) { reached_[node] = reached; }
  std::vector<std::string> SilentNodes() const;

  // No leftover of an earlier incarnation (agreement.h). The failure of the group, if these ranks are unfit
  // for it.
  std::optional<Failure> Add(Source source, const Hello& hello);
  // The source is gone before the group was formed: a failure of the group, unless it had claimed nothing. A
  // leader takes its node's other ranks with it, but it alone is named: it is the process that ended.
  std::optional<Failure> Remove(Source source);

  // For the roster: the addresses with which other nodes reach the root's own node.
  void SetAddresses(const std::string& node, std::vector<std::string> addresses);

  bool complete() const { return here_ == world_size(); }
  // The roster without group id. Call when complete. Error: kDisagreement if local ranks are not 0..k-1 on a
  // node.
  Result<Roster> MakeRoster() const;

  // "118/128 ranks; missing gpu03: 24-31 (no contact with the node, which gpu01 cannot reach); gpu07: 57
  // (never connected)". More than 16 nodes by the reason: "gpu[03-21,30]: 24-175,240-247 (no contact with the node)".
  std::string Describe() const;
  std::vector<int> MissingRanks() const;

 private:
  struct Seat {
    bool taken = false;
    Source source = 0;
    std::string node;
    int pid = 0;
    uint64_t process = 0;  // ProcessInfo::id
    int first = 0;         // the lowest rank of the process
    RankClaim claim;
  };
  // The process at the other end of a source: the first process that came from there.
  struct Speaker {
    std::string node;
    std::vector<int> ranks;
  };
  struct MissingOnNode {
    std::string node;
    std::vector<int> ranks;  // empty if the layout is not known
    int count = 0;
  };
  struct MissingForReason {
    std::string why;
    std::vector<std::string> nodes;
    std::vector<int> ranks;  // as MissingOnNode's
    int count = 0;
  };

  int world_size() const { return self_.agreement.world_size; }
  std::optional<Error> TakeSeat(Source source, const ProcessInfo& member, const RankClaim& claim);
  std::vector<MissingOnNode> MissingByNode() const;
  std::vector<MissingForReason> MissingByReason() const;
  std::map<std::string, int> ArrivedByNode() const;
  std::string WhyMissing(const std::string& node, const std::map<std::string, int>& arrived) const;
  Status CheckLocalRanks(Roster& roster) const;

  ProcessInfo self_;
  Placement placement_;
  std::vector<Seat> seats_;
  std::map<Source, Speaker> speakers_;
  std::map<std::string, std::vector<std::string>> node_addresses_;
  std::map<std::string, bool> reached_;
  int here_ = 0;
};

}  // namespace muster::rendezvous
