#include "comm/socket/transport/call_history.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace muster::socket {
namespace {

int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The coarse clock is some milliseconds behind and costs a tenth of the exact one: a short collective is over
// in a microsecond.
int64_t CoarseNow() { return Now(CLOCK_MONOTONIC_COARSE); }

}  // namespace

std::optional<Mismatch> CallHistory::Begin(const Call& call) {
  const std::lock_guard lock(mutex_);
  sequence_ = call.sequence;
  since_.store(CoarseNow(), std::memory_order_relaxed);
  active_.store(true, std::memory_order_relaxed);
  history_[call.sequence % kRemembered] = call;
  std::optional<Mismatch> found;
  for (auto entry = early_.begin(); entry != early_.end();) {
    if (entry->second.sequence > sequence_) {
      ++entry;
      continue;
    }
    if (entry->second.sequence == sequence_ && entry->second != call && !found) {
      found = Mismatch{entry->first, entry->second, call};
    }
    entry = early_.erase(entry);
  }
  return found;
}

void CallHistory::Waiting(std::vector<int> world_ranks) {
  const std::lock_guard lock(mutex_);
  waiting_ = !world_ranks.empty();
  waiting_for_ = std::move(world_ranks);
}

void CallHistory::End() {
  since_.store(CoarseNow(), std::memory_order_relaxed);
  active_.store(false, std::memory_order_release);
  if (!waiting_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  waiting_ = false;
  waiting_for_.clear();
}

std::optional<Mismatch> CallHistory::Ask(int from, const Call& theirs) {
  const std::lock_guard lock(mutex_);
  if (theirs.sequence > sequence_) {
    early_[from] = theirs;
    return std::nullopt;
  }
  const Call& mine = Past(theirs.sequence);
  if (mine.sequence != theirs.sequence || mine == theirs)
    return std::nullopt;  // too old to be recorded, or the same
  return Mismatch{from, theirs, mine};
}

OperationState CallHistory::Look() const {
  const std::lock_guard lock(mutex_);
  if (sequence_ == 0) return {};
  const Call& call = Past(sequence_);
  OperationState state = StateOf(call);
  state.active = active_.load(std::memory_order_acquire);
  // The exact clock: a rank reports once that it has waited long, and no report may call its wait shorter than that.
  const int64_t age = std::max<int64_t>(0, Now(CLOCK_MONOTONIC) - since_.load(std::memory_order_relaxed));
  state.milliseconds = static_cast<uint64_t>(age) / 1'000'000;
  if (state.active) state.waiting_for = waiting_for_;
  return state;
}

OperationState StateOf(const Call& call) {
  OperationState state;
  state.communicator = call.communicator;
  state.collective = call.operation != Operation::kSend && call.operation != Operation::kRecv;
  state.operation = Name(call.operation);
  state.sequence = call.sequence;
  state.elements = DescribeElements(call);
  return state;
}

}  // namespace muster::socket
