// The quality of one connection between two nodes: round trip, bandwidth each way, clocks. Both ends call
// MeasureLink at about the same time, one of them as leader.
//
//     both               1 byte: here
//     leader -> other    20 x 16 bytes, each answered with 16: the last i64 is the other's clock;
//                        then i64 round trip, i64 clock
//     each way           chunks: 1 byte kind, 64 KiB, each answered with 1 byte; then 1 byte kind, u64 bytes/s
//
// On a slow link the leader sends the last of the 20 together, without a measurement of their round trips.
//
// The bandwidth is that of the best of three bursts: a process that had to wait for a processor is not a slow
// link. The sender has at most as much on the way as was answered already, and 256 KiB, up to 2 MiB: so it
// stops soon after its time is over however slow the link is.
//
// Threads: one. Ownership: the descriptor stays the caller's, and is of no other use after an error.
#pragma once

#include <cstdint>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::socket {

struct LinkFigures {
  int64_t round_trip_ns = 0;     // median
  int64_t clock_ahead_ns = 0;    // this side's wall clock minus the other's, within half a round trip
  uint64_t out_bytes_per_s = 0;  // from here to there; 0: not measured
  uint64_t in_bytes_per_s = 0;

  friend bool operator==(const LinkFigures&, const LinkFigures&) = default;
};

struct MeasureOptions {
  bool bandwidth = true;
  uint64_t bytes = 8 << 20;                        // each way,
  Duration time = std::chrono::milliseconds(200);  // or the number that fits into this
  // After this the round trips so far count, and no further burst begins.
  Duration enough = std::chrono::seconds(1);
  Duration patience = std::chrono::seconds(3);  // without a byte that moves, once both are there
  Duration longest = std::chrono::seconds(15);  // the whole measurement, once both are there
  Deadline peer_comes_by = Deadline::After(std::chrono::seconds(30));
  int stop_fd = -1;  // readable: stop
};

// BLOCKS until measured, at most until options.peer_comes_by + options.longest. Error: kPeerLost, kDeadline,
// kSystem; a sentence that goes on from "the connection to gpu02:".
Result<LinkFigures> MeasureLink(int fd, bool leader, const MeasureOptions& options);

}  // namespace muster::socket
