#include "comm/rendezvous/link/retry_budget.h"

#include <algorithm>

namespace muster::rendezvous {

RetryBudget::RetryBudget(size_t leaders)
    : crowd_(static_cast<Duration::rep>(std::max<size_t>(1, leaders / kFewLeaders))),
      left_(std::max(1, kMost / static_cast<int>(crowd_))) {}

bool RetryBudget::Take(Clock::time_point now) {
  const int most = std::max(1, kMost / static_cast<int>(crowd_));
  const auto more = (now - filled_) / (kOneMoreAfter * crowd_);
  if (more > 0) {
    left_ = static_cast<int>(std::min<Duration::rep>(most, left_ + more));
    filled_ = left_ == most ? now : filled_ + more * kOneMoreAfter * crowd_;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace muster::rendezvous
