#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {
namespace {

// Trying more connections than this costs more than being woken.
constexpr size_t kMaxSpinPeers = 8;
// Later than this after it should have woken up, a process was suspended; a busy machine is faster.
constexpr Duration kSuspended = std::chrono::seconds(2);

}  // namespace

bool SpinsFor(size_t peers, bool allowed) { return allowed && peers <= kMaxSpinPeers; }

Duration SuspendedFor(Clock::time_point slept_from, Clock::time_point now) {
  const Duration stall = now - slept_from - kLongestSleep;
  return stall < kSuspended ? Duration::zero() : stall;
}

Deadline Postponed(Deadline deadline, Duration stall) {
  return deadline.IsNever() ? deadline : Deadline::At(deadline.when() + stall);
}

WaitVerdict Judge(Deadline deadline, bool lost, Deadline report_at, Clock::time_point now) {
  const bool expired = deadline.when() <= now;
  if (lost && (expired || report_at.when() <= now)) return WaitVerdict::kFailLost;
  return expired ? WaitVerdict::kFailDeadline : WaitVerdict::kGoOn;
}

}  // namespace muster::socket
