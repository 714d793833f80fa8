// One rank's place in the shared memory of its node, and the protocol in it.
//
// The ranks of a node go through the same steps, numbered from 1 during the communicator's existence; a call
// is one step or more. In a step each rank publishes: it may write its slot before, and its header contains
// step and call. Other ranks wait until it has published, compare the call with theirs, and read the slot. A
// rank that publishes step s has read all that it needs of the steps before. So a rank that has seen all
// ranks publish s + 1 may write the slot of step s again, for step s + kSlots. Claim waits for that; the
// other waits usually ensure it already.
//
// Every wait is for a rank to publish a step that is not later than that of this rank. So no circle of ranks
// can wait for each other, within the memory and together with messages (progress_engine.h) of the same calls
// in the same order.
//
// Sleeping: awaited.h. A rank that is about to sleep writes the one it waits for into its sleeper word, then
// checks once more. A rank that has published then checks all sleeper words. Each has a full fence in
// between, so at least one of the two sees the other's write (Dekker). The check is postponed while a rank
// spins: a peer that sleeps cannot be the one it waits for at that moment, or the check comes soon (Idle).
// A rank whose doorbell another program has removed finds that in its word, and from then on sleeps for 1 ms at
// most.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/engine/awaited.h"
#include "comm/socket/engine/progress_engine.h"
#include "comm/socket/engine/wait_rules.h"
#include "comm/socket/shm/doorbell.h"
#include "comm/socket/shm/segment.h"

namespace muster::socket {

class NodeMemory final : private Awaited {
 public:
  // `local` names the ranks of the communicator that share the segment, in its order. `directory`: of their
  // doorbells.
  NodeMemory(ProgressEngine& engine, std::unique_ptr<Segment> segment, Doorbell doorbell,
             net::PrivateDirectory directory, Team local);

  int ranks() const { return local_.size(); }
  int index() const { return local_.index; }
  size_t slot_bytes() const { return segment_->shape().slot_bytes; }
  // The place in `local` of a rank of the communicator that is there.
  int IndexOf(int rank) const;
  int RankAt(int index) const { return local_.at(index); }
  ProgressEngine& engine() const { return engine_; }
  // True if a waiting rank sleeps immediately: there are fewer processors than ranks. The same on all ranks.
  bool crowded() const { return crowded_; }

  // Before the slots of the next `steps` steps (at most 2) are written. BLOCKS as ProgressEngine::Await, like
  // all that returns a Status. Error: kDisagreement if a rank was in another call in the step that it waits for.
  Status Claim(uint64_t steps = 1);
  // This rank's slot of the next step.
  uint8_t* NextSlot() const { return segment_->slot(local_.index, step_ + 1); }
  // Enters the next step; `inlined`, at most kInlineBytes, travels in the header. Without a Claim nothing may
  // have been written into the slot.
  void Publish(ByteView inlined = {});
  // If a call ends with a Publish, or waits for messages after one: wakes the sleeping ranks now.
  void Flush() { RingSleepers(); }
  // Until all, or one, have published the step of this rank. Error: kDisagreement if it is in another call, or was
  // in another one before.
  Status AwaitAll();
  Status AwaitOne(int index);
  // For a rank that has a message that all have published the step before its own.
  void AllReachedPrevious() { all_reached_ = step_ - 1; }
  // After the last call: whether a rank that is not further has made other calls. Does not wait for any.
  Status CheckLast();

  const uint8_t* Slot(int index) const { return segment_->slot(index, step_); }
  const uint8_t* Inlined(int index) const { return segment_->header(index, step_).inlined.data(); }

 private:
  bool Happened() override;
  void Idle() override { RingSleepers(); }
  void FallAsleep() override;
  void WakeUp() override;
  int doorbell_fd() const override { return doorbell_.fd(); }
  void Drain() override { doorbell_.Drain(); }
  Duration longest_sleep() const override { return longest_sleep_; }
  std::vector<int> WaitingFor() override;

  Status AwaitStep(int begin, int end, uint64_t step);
  bool Reached(int index, uint64_t step) const {
    return segment_->header(index, step).step.load(std::memory_order_acquire) >= step;
  }
  // `mine`: the words of this rank in that step.
  Status CheckCall(int index, uint64_t step, const CallWords& mine);
  Status Disagree(int index, uint64_t step);
  CallWords WordsOf(int index, uint64_t step) const;
  bool IsAt(int index, uint64_t step) const {
    return segment_->header(index, step).step.load(std::memory_order_relaxed) == step;
  }
  void BeginCall(const Call& call);
  void RingSleepers();
  void Ring(int index);
  void WriteSleeper(uint32_t word);
  const std::optional<net::SocketAddress>& AddressOf(int index);

  ProgressEngine& engine_;
  const std::unique_ptr<Segment> segment_;
  const Doorbell doorbell_;
  const net::PrivateDirectory directory_;
  std::vector<std::optional<net::SocketAddress>> doorbells_;  // of the other ranks, once they have been rung
  const Team local_;

  const bool crowded_;
  CallWords words_{};      // of the last call that published
  uint64_t sequence_ = 0;  // its number
  uint64_t changed_ = 0;   // the first step of the last call that was not like the one before
  std::array<CallWords, kSlots> published_{};  // of the last steps
  uint64_t step_ = 0;                          // the last one published
  uint64_t all_reached_ = 0;                   // all ranks have published at least this one
  bool rings_due_ = false;                     // a step was published and the sleepers have not been checked

  // The awaited event: [first_, end_) publish target_.
  int first_ = 0;
  int end_ = 0;
  uint64_t target_ = 0;
  bool asleep_ = false;
  int announced_ = -1;
  Duration longest_sleep_ = kLongestSleep;
};

// True if every one of these ranks has its own processor because their sets are disjoint.
bool OwnProcessors(const Segment& segment);

}  // namespace muster::socket
