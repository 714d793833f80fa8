// The state of one communicator in this process: the current call, the peers it waits for, and earlier calls.
// For surveys of the control plane, and for inquiries of peers (inquiry.h).
//
// Reason: an algorithm makes a rank exchange messages with a few peers only. Two ranks that disagree may
// never exchange a message, and the rank that another waits for is rarely the missing one.
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

// A peer's call that differs from this rank's.
struct Mismatch {
  int rank = 0;  // in the whole group
  Call theirs;
  Call mine;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

// The displayed name of a call.
OperationState StateOf(const Call& call);

class CallHistory final : public ActivitySource {
 public:
  // Enters `call`; its sequence is one more than the last. Present: an earlier inquiry about this number came
  // from a rank in another call.
  std::optional<Mismatch> Begin(const Call& call);
  void Waiting(std::vector<int> world_ranks);
  void End();

  // `from`, a rank of the whole group, is blocked in `theirs`. Present: this rank is, or was, in another call of that number.
  std::optional<Mismatch> Ask(int from, const Call& theirs);

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
  std::map<int, Call> early_;                // inquiries that came before this rank entered the call
};

}  // namespace muster::socket
