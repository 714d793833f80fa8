// Process groups that follow one another in one program, and the keys of each:
//
//   for i in range(3): init_process_group(); all_reduce(); destroy_process_group()
//
// PyTorch gives every default process group the same keys ("default_pg/..."). With a store that exists as
// long as the program, the second group reads the addresses of the first, and cannot connect. So each key of
// a process group is in a *round*, and each rank counts its rounds for itself. The rule:
//
//   1. A connection is in a round from its first process-group key on, until it closes.
//   2. A rank whose connections of round N have all closed enters round N + 1 with the next such connection,
//      if all ranks had connections of round N at one time. Else it stays in round N.
//   3. Round N - 1 is dropped when the first rank enters round N + 1.
//
// The reasons:
//
// - Each rank counts alone, because ranks are not equally fast: one is in round N + 1 while other ranks still
//   have connections of round N open and read its keys. A wait for the slowest could block forever.
// - Rule 2 requires that all ranks meet, because a rank may try alone (init_process_group with a short timeout,
//   in a loop, with pauses): the others must find it in the first round. A process group connects all ranks,
//   so no rank completes a round in which they have not met. So ranks are never more than one round apart:
//   rule 3.
// - Only keys of process groups have rounds. Other keys last as long as the program: a rank may publish a
//   value over a short connection, probe the store, or open a second client, and the value is there for all
//   ranks.
// - A rank that ends early does not come back: the keys of its last round stay for the other ranks.
// - A process that holds a connection of the round keeps its rank in that round: a second process group that
//   was not destroyed, or a forked worker, which has a copy of the descriptor.
//
// Programs that follow one another (`sh -c 'a && b'`) share nothing at all: bootstrap/store/store_users.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::tcp_store {

using Round = uint32_t;

// True for a key of init_process_group, in its wire form: "/default_pg/0//cpu//0/1"; before PyTorch 2.4
// "//worker/attempt_0/default_pg/...".
//
// Source: torch/distributed/distributed_c10d.py and rendezvous.py of PyTorch 2.2 to 2.13.
bool IsProcessGroupKey(std::string_view key);

// The rule above, for the ranks of one program. Pure.
class Rounds {
 public:
  explicit Rounds(int ranks) : ranks_(static_cast<size_t>(ranks)) {}

  // A connection of `rank` uses a process-group key for the first time: the round that it is in. A rank that
  // there is not gets the latest round, and is not counted.
  Round Enter(int rank);
  // Such a connection has closed.
  void Leave(int rank);
  Round latest() const { return latest_; }
  // That in which `rank` was last.
  Round Of(int rank) const;

 private:
  struct Rank {
    Round round = 0;
    size_t connections = 0;
  };
  bool Has(int rank) const { return rank >= 0 && static_cast<size_t>(rank) < ranks_.size(); }

  std::vector<Rank> ranks_;
  Round latest_ = 0;
  size_t present_ = 0;  // ranks with connections of the latest round
  bool met_ = false;    // all ranks had some at one time
};

}  // namespace muster::tcp_store
