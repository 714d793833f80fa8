// How one node measures its connections to all other nodes: first which pairs can connect at all, then, in
// the rounds of a tournament, the quality of some connections.
//
// A pair that cannot connect, or whose data does not get through, is noted and all other pairs go on: the
// probing connections are none of the group's (comm/socket/probe).
//
// Threads: one. Only the speaker of a node (local rank 0) has one. Ownership: the Group outlives it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bootstrap/check/findings/links.h"
#include "comm/base/unique_fd.h"
#include "comm/group/group.h"
#include "comm/socket/transport/endpoint.h"

namespace muster::check {

// Which process reports for a node.
int SpeakerOf(const Roster& roster, int node);

// The rounds: every two of N players play exactly once, and in each round a player has at most one opponent
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
  int most_rounds = 16;  // of the tournament: enough to identify a slow node
};

class LinkSurvey {
 public:
  // The speaker of node i listens at `speakers[i]`; `endpoint` is this node's own.
  LinkSurvey(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
             std::vector<socket::EndpointAddress> speakers, const LinkSurveyOptions& options);
  LinkSurvey(const LinkSurvey&) = delete;
  LinkSurvey& operator=(const LinkSurvey&) = delete;

  // BLOCKS: connects for at most options.connect and a second for each 256 nodes. It uses all of that time
  // only if a pair does not answer. Error: the group's failure, kSystem.
  Result<NodeLinks> Connect();
  // BLOCKS until measured, at most 15 s a round and 60 s more. Adds to `links`; may be called again, on all
  // nodes alike, for a second measurement. Error: the group's failure.
  Status Measure(NodeLinks& links);

 private:
  struct Meeting {
    int node = 0;
    bool measured = false;
  };
  // With every other node, in the order of the tournament: so all nodes never dial the same node together.
  std::vector<Meeting> Meetings() const;
  void ReportMissingRanks(const std::vector<int>& ranks);

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
