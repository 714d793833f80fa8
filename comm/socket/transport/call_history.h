// What one communicator is doing in this process: the current call, the peers it waits for, and the calls of a
// while ago. For surveys of the control plane, and for peers that ask (inquiry.h).
//
// Why this exists: an algorithm makes a rank talk to a few peers only. Two ranks that disagree may never
// exchange a message, and the rank somebody waits for is rarely the one that is missing. See inquiry.h.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/group/activity.h"
#include "comm/ops/call.h"

namespace muster::socket {

// How a rank answers "I am in this call; are you?".
enum class Standing : uint8_t {
  kElsewhere = 0,  // not in it: not yet, no longer, or the communicator is unknown here
  kSame = 1,       // in the same call
  kDisagrees = 2,  // in another call of that number, or it was
};

// A peer's call that is not ours.
struct Mismatch {
  int rank = 0;  // in the whole group
  Call theirs;
  Call mine;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

// Ranks that a blocked one says it waits for.
inline constexpr size_t kShownRanks = 8;

// What a call is called, for people.
OperationState StateOf(const Call& call);

class CallHistory final : public ActivitySource {
 public:
  // Enters `call`; its sequence is one more than the last. Present: somebody asked about this number while
  // this rank was not there yet, and is in another call.
  std::optional<Mismatch> Begin(const Call& call);
  void Waiting(std::vector<int> world_ranks);
  void End();

  // `from`, a rank of the whole group, is blocked in `theirs`. `mismatch` is set where the answer is
  // kDisagrees.
  Standing Ask(int from, const Call& theirs, std::optional<Mismatch>& mismatch);

  // The current call, or the last one.
  OperationState Look() const override;

 private:
  static constexpr size_t kRemembered = 64;

  const Call& Past(uint64_t sequence) const { return history_[sequence % kRemembered]; }

  mutable std::mutex mutex_;
  uint64_t sequence_ = 0;
  std::atomic<bool> active_ = false;
  std::atomic<int64_t> since_ = 0;     // when the call began, or ended; of the coarse clock, nanoseconds
  std::atomic<bool> waiting_ = false;  // waiting_for_ is not empty; spares short calls a lock
  std::vector<int> waiting_for_;
  std::array<Call, kRemembered> history_{};  // the current one included
  std::map<int, Call> early_;                // asked about before this rank got there
};

}  // namespace muster::socket
