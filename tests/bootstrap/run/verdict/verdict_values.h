// Verdicts, groups and failures for the tests of RunVerdict and of a supervisor's own failures.
#pragma once

#include <csignal>
#include <string>

#include "bootstrap/run/verdict/run_verdict.h"

namespace muster::run {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline const Clock::time_point kStart = Clock::time_point() + hours(1);

inline constexpr process::ChildExit kOk{};
inline constexpr process::ChildExit kExit1{1, 0};
inline constexpr process::ChildExit kSigterm{0, SIGTERM};

// Two ranks on each node.
inline rendezvous::FormedGroup GroupOf(int nodes) {
  rendezvous::FormedGroup group;
  for (int node = 0; node < nodes; ++node) {
    group.roster.nodes.push_back({"n" + std::to_string(node), {}});
    for (int local = 0; local < 2; ++local) {
      group.roster.members.push_back({node, local, 100 + 2 * node + local, {}});
    }
  }
  return group;
}

inline RunFacts WithOthers() {
  RunFacts facts;
  facts.grace = seconds(10);
  facts.alone = false;
  return facts;
}

inline RunVerdict VerdictOf(int own_rank, const RunFacts& facts = WithOthers(), int nodes = 2) {
  RunVerdict verdict(facts);
  verdict.Formed(GroupOf(nodes), {own_rank});
  if (own_rank == 0) verdict.BecomeRoot();
  return verdict;
}

inline rendezvous::Failure ExitOf(int rank, int status = 1) {
  return {{Code::kPeerLost, "rank failed", ""}, rank, status, ""};
}
inline rendezvous::Failure LossOf(int rank) { return {{Code::kPeerLost, "rank lost", ""}, rank, -1, ""}; }

inline process::EndSignal Signal(int number) { return {number, 1, false, false}; }

}  // namespace muster::run
