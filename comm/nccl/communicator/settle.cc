#include "comm/nccl/communicator/settle.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace muster::nccl {
namespace {

// For this time the thread yields the processor but does not sleep, as CUDA's own waits do for all of theirs.
constexpr Duration kEager = std::chrono::milliseconds(5);
// Then it sleeps for this part of the time it has waited for: what it wakes too late is in proportion.
constexpr int kPart = 128;
constexpr Duration kLongestNap = std::chrono::milliseconds(10);

// True if the descriptor became readable meanwhile.
bool Nap(Duration duration, int stop_fd) {
  pollfd stop{stop_fd, POLLIN, 0};
  const timespec time{0, duration.count()};
  return ppoll(&stop, 1, &time, nullptr) > 0;
}

}  // namespace

NcclResult Settle(const std::function<NcclResult()>& ask, Deadline deadline, int stop_fd) {
  const auto began = Clock::now();
  while (true) {
    const NcclResult state = ask();
    if (state != NcclResult::kInProgress || deadline.Expired()) return state;
    const Duration waited = Clock::now() - began;
    if (waited < kEager) {
      std::this_thread::yield();
      continue;
    }
    if (Nap(std::min({waited / kPart, kLongestNap, deadline.Remaining()}), stop_fd)) return ask();
  }
}

NcclResult WorseOf(NcclResult one, NcclResult other) { return one == NcclResult::kSuccess ? other : one; }

std::string ExplainNccl(const NcclApi& nccl, NcclResult result) {
  const std::string last = nccl.LastError();
  return nccl.Describe(result) + (last.empty() ? "" : ": " + last);
}

}  // namespace muster::nccl
