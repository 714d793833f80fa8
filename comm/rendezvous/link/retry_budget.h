// How soon a leader tries again when a peer has closed its connection without an answer. A root does so while another user of
// this node opens thousands of connections: only many attempts reach it soon. A foreign process may close each as well. So
// the attempts are quick until a budget is used up, which fills again slowly; and the leaders of a large group share the rate.
//
// A value, without sockets and clock.
#pragma once

#include <algorithm>
#include <cstddef>

#include "comm/base/deadline.h"

namespace muster::rendezvous {

class RetryBudget {
 public:
  static constexpr int kMost = 500;
  static constexpr Duration kPause = std::chrono::milliseconds(5);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);
  static constexpr Duration kOneMoreAfter = std::chrono::milliseconds(100);
  // From more leaders on than this each makes fewer attempts.
  static constexpr size_t kFewLeaders = 64;

  explicit RetryBudget(size_t leaders = 1);

  // Whether the next attempt is a quick one.
  bool Take(Clock::time_point now);
  // Before a quick attempt.
  Duration pause() const { return std::min<Duration>(kPause * crowd_, kLongestPause); }

 private:
  Duration::rep crowd_;
  int left_;
  Clock::time_point filled_{};
};

}  // namespace muster::rendezvous
