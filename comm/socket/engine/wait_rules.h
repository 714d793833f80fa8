// The next step of a waiting rank, as functions of values.
#pragma once

#include <cstddef>

#include "comm/base/deadline.h"

namespace muster::socket {

// A loopback or Unix message takes 2 to 4 us to a peer that spins and 20 to one that sleeps.
inline constexpr Duration kSpinFor = std::chrono::microseconds(50);
// A rank that spins serves other connections this often in a call. That costs some microseconds: a poll(2) that does not block.
inline constexpr Duration kServeEvery = std::chrono::milliseconds(50);
// Short sleeps show that the process was suspended.
inline constexpr Duration kLongestSleep = std::chrono::seconds(1);

// True if a rank with unfinished messages to and from `peers` spins before it sleeps.
bool SpinsFor(size_t peers, bool allowed);

// The time for which a process was suspended that slept from `slept_from`, for kLongestSleep at most, and is
// back at `now`. Zero: a busy machine accounts for it.
Duration SuspendedFor(Clock::time_point slept_from, Clock::time_point now);

// `deadline`, for a process that was suspended for `stall`.
Deadline Postponed(Deadline deadline, Duration stall);

enum class WaitVerdict {
  kGoOn,
  kFailLost,      // with the error of the lost peer
  kFailDeadline,  // with the ranks that are missing
};

// Of a call that is not done. `report_at`: when a lost peer fails the group if the control plane has not until then.
WaitVerdict Judge(Deadline deadline, bool lost, Deadline report_at, Clock::time_point now);

// Between two checks of a rank that spins.
inline void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace muster::socket
