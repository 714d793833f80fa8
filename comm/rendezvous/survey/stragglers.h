// The ranks missing in an operation in which other ranks wait, from all reports. Pure.
#pragma once

#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/roster.h"

namespace muster::rendezvous {

// One operation that at least one rank waits in.
struct WaitingCall {
  struct Late {
    std::vector<int> ranks;  // ascending
    std::string where;       // the same for all of them: "last seen in Barrier #41"

    friend bool operator==(const Late&, const Late&) = default;
  };
  OperationState call;       // of the rank that has waited longest
  std::vector<int> waiting;  // the ranks in it, ascending
  std::vector<Late> late;    // empty: all known members are in it
  std::vector<int> left;     // of those that are late: ranks that have left and will never come

  friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};

// Operations in which some rank has waited for at least `at_least`; the longest wait first.
std::vector<WaitingCall> FindWaitingCalls(const std::vector<RankReport>& reports, Duration at_least);

// "AllReduce #42 f32[1024] waits 31 s for rank 5 (gpu02), last seen in Barrier #41".
std::string Describe(const Roster& roster, const WaitingCall& call);

// The ranks missing in collective number `sequence` of that communicator, in which `rank` waits: "rank 5
// (gpu02), last seen in Barrier #41"; or in another one of that number: "rank 5 (gpu02), in Barrier #42".
// Empty if all are in it.
std::string DescribeMissing(const Roster& roster, const std::vector<RankReport>& reports, int rank,
                            uint64_t communicator, uint64_t sequence);

// The state of a rank in a few words: "in AllReduce #42 f32[1024]", "in the program, last in Barrier #41".
std::string DescribeState(const RankReport& report);

// "0.4 s", "31 s", "12 m", "3.5 h".
std::string FormatAge(uint64_t milliseconds);

}  // namespace muster::rendezvous
