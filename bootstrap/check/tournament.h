// Who plays whom: every two of N players meet exactly once, and in each round a player meets at most one
// other (the circle method of round-robin tournaments). So pairs of nodes are measured side by side without
// sharing a node, in N - 1 rounds (N, where N is odd) instead of N(N-1)/2. Pure.
#pragma once

#include <optional>
#include <vector>

namespace muster::check {

int RoundsOf(int players);

// Absent: `player` sits this round out.
std::optional<int> OpponentOf(int player, int round, int players);

// At most `most` rounds, spread evenly over all of them; ascending.
std::vector<int> SomeRounds(int players, int most);

}  // namespace muster::check
