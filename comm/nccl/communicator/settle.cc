#include "comm/nccl/communicator/settle.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace muster::nccl {
namespace {

// A launch takes some tens of microseconds: for this time the thread yields the processor but does not sleep.
constexpr Duration kEager = std::chrono::microseconds(200);
constexpr Duration kShortestNap = std::chrono::microseconds(50);
constexpr Duration kLongestNap = std::chrono::milliseconds(10);

// True if the descriptor became readable meanwhile.
bool Nap(Duration duration, int stop_fd) {
  pollfd stop{stop_fd, POLLIN, 0};
  const timespec time{0, duration.count()};
  return ppoll(&stop, 1, &time, nullptr) > 0;
}

}  // namespace

NcclResult Settle(const std::function<NcclResult()>& ask, Deadline deadline, int stop_fd) {
  const Deadline eager = Deadline::After(kEager);
  Duration nap = kShortestNap;
  while (true) {
    const NcclResult state = ask();
    if (state != NcclResult::kInProgress || deadline.Expired()) return state;
    if (!eager.Expired()) {
      std::this_thread::yield();
      continue;
    }
    if (Nap(std::min(nap, deadline.Remaining()), stop_fd)) return ask();
    nap = std::min(nap * 2, kLongestNap);
  }
}

NcclResult WorseOf(NcclResult one, NcclResult other) {
  const bool fine = one == NcclResult::kSuccess || one == NcclResult::kInProgress;
  return fine ? other : one;
}

std::string ExplainNccl(const NcclApi& nccl, NcclResult result) {
  const std::string last = nccl.LastError();
  return nccl.Describe(result) + (last.empty() ? "" : ": " + last);
}

}  // namespace muster::nccl
