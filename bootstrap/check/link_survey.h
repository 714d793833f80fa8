// How one node finds out about its connections to all others: first who can reach whom at all, then, in the
// rounds of a tournament, how good some of the connections are.
//
// A pair that cannot connect, or whose data does not get through, is noted and the others go on: the probing
// connections are none of the group's (comm/socket/probe).
//
// Threads: one. Only the node's speaker (local rank 0) has one. Ownership: the Group outlives it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bootstrap/check/findings/links.h"
#include "comm/base/unique_fd.h"
#include "comm/group/group.h"
#include "comm/socket/transport/endpoint.h"

namespace muster::check {

// Whose word counts for a node.
int SpeakerOf(const Roster& roster, int node);

// The rounds: every two of N players meet exactly once, and in each round a player meets at most one other
// (the circle method of round-robin tournaments). So pairs of nodes are measured side by side without sharing
// a node, in N - 1 rounds (N if N is odd) instead of N(N-1)/2. Pure.
int RoundsOf(int players);

// Absent: `player` sits this round out.
std::optional<int> OpponentOf(int player, int round, int players);

// At most `most` rounds, spread evenly over all of them; ascending.
std::vector<int> SomeRounds(int players, int most);

struct LinkSurveyOptions {
  bool bandwidth = true;
  Duration connect = std::chrono::seconds(4);
  int most_rounds = 16;  // of the tournament: after so many a slow node is known
};

class LinkSurvey {
 public:
  // `speakers[i]` is where the speaker of node i listens; `endpoint` is this node's own.
  LinkSurvey(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
             std::vector<socket::EndpointAddress> speakers, const LinkSurveyOptions& options);
  LinkSurvey(const LinkSurvey&) = delete;
  LinkSurvey& operator=(const LinkSurvey&) = delete;

  // BLOCKS: connects for at most options.connect and a second for each 256 nodes; what cannot be known but by
  // waiting is waited for. Error: the group's failure, kSystem.
  Result<NodeLinks> Connect();
  // BLOCKS until measured, at most 4 s a round and 30 s more. Adds to `links`; may be called again, on all
  // nodes alike, for a second look. Error: the group's failure.
  Status Measure(NodeLinks& links);

 private:
  struct Meeting {
    int node = 0;
    bool measured = false;
  };
  // With every other node, in the order of the tournament: so no node is dialed by all at once.
  std::vector<Meeting> Meetings() const;
  void TellWhoIsMissing(const std::vector<int>& ranks);

  Group& group_;
  const std::unique_ptr<socket::SocketEndpoint> endpoint_;
  const std::vector<socket::EndpointAddress> speakers_;
  const LinkSurveyOptions options_;
  const int node_;
  std::vector<UniqueFd> links_;  // by node; those that are measured
  Clock::time_point began_ = Clock::now();
  Deadline tell_;
};

}  // namespace muster::check
