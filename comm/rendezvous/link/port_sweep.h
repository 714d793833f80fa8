// The order in which a leader tries the further ports of the ladder when foreign processes hold the first
// ones. The root takes the first free port, so earlier ports are tried more often: rounds over the first 64,
// 128, 256, ... ports, and when all have been tried over the first 64 again, with twice the time for a port
// to prove itself. A port with a foreign answer is skipped in the next round.
//
// A value, without sockets.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/base/deadline.h"

namespace muster::rendezvous {

class PortSweep {
 public:
  static constexpr size_t kFirstRound = 64;
  // Connections at a time.
  static constexpr size_t kAtOnce = 64;

  // The pause between two attempts. The leaders of a large group try one root: together they stay below some
  // ten thousand attempts a second. Shorter if foreign processes hold the first ports.
  static Duration Apart(size_t leaders, bool strangers);

  // The next of `total` indices; absent: there are none.
  std::optional<size_t> Next(size_t total);
  void SetStranger(size_t index);
  // The time in which a port must prove itself.
  Duration patience() const { return patience_; }

 private:
  void StartRound(size_t total);

  size_t next_ = 0;
  size_t round_ = 0;  // number of rounds; 0: none has begun
  Duration patience_{};
  std::vector<bool> strangers_;  // of this round
  std::vector<bool> left_out_;   // those of the round before
};

}  // namespace muster::rendezvous
