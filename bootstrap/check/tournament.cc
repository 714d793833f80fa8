#include "bootstrap/check/tournament.h"

#include <algorithm>

namespace muster::check {

int RoundsOf(int players) { return players < 2 ? 0 : players - 1 + players % 2; }

// In round r those meet whose numbers add up to r, modulo the number of rounds; who would meet itself meets
// the last player, who is nobody where their number is odd.
std::optional<int> OpponentOf(int player, int round, int players) {
  const int rounds = RoundsOf(players);
  const int last = rounds;
  int opponent = 0;
  if (player == last) {
    // Half of `round`: (rounds + 1) / 2 is the inverse of 2.
    opponent = static_cast<int>(static_cast<long long>(round) * ((rounds + 1) / 2) % rounds);
  } else {
    opponent = (round - player % rounds + rounds) % rounds;
    if (opponent == player) opponent = last;
  }
  if (opponent >= players) return std::nullopt;
  return opponent;
}

std::vector<int> SomeRounds(int players, int most) {
  const int rounds = RoundsOf(players);
  const int taken = std::min(rounds, most);
  std::vector<int> some;
  for (int i = 0; i < taken; ++i) {
    some.push_back(static_cast<int>(static_cast<long long>(i) * rounds / taken));
  }
  return some;
}

}  // namespace muster::check
