#include "comm/rendezvous/link/retry_budget.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int TakeAll(RetryBudget& budget, Clock::time_point now) {
  int taken = 0;
  while (budget.Take(now)) ++taken;
  return taken;
}

TEST(RetryBudget, IsUsedUpAndFillsAgain) {
  const Clock::time_point now{seconds(100)};
  RetryBudget budget;
  EXPECT_EQ(TakeAll(budget, now), 500);
  EXPECT_EQ(TakeAll(budget, now + milliseconds(99)), 0);
  EXPECT_EQ(TakeAll(budget, now + milliseconds(250)), 2);
  EXPECT_EQ(TakeAll(budget, now + milliseconds(300)), 1) << "no part of the time is lost";
  EXPECT_EQ(TakeAll(budget, now + seconds(1000)), 500);
}

// 1000 leaders made up to 200,000 attempts a second.
TEST(RetryBudget, TheLeadersOfALargeGroupShareTheRate) {
  EXPECT_EQ(RetryBudget(1).pause(), milliseconds(5));
  EXPECT_EQ(RetryBudget(64).pause(), milliseconds(5));
  EXPECT_EQ(RetryBudget(1000).pause(), milliseconds(75));
  const Clock::time_point now{seconds(100)};
  RetryBudget budget(1000);
  EXPECT_EQ(TakeAll(budget, now), 33);
  EXPECT_EQ(TakeAll(budget, now + milliseconds(1499)), 0);
  EXPECT_EQ(TakeAll(budget, now + milliseconds(1500)), 1);
  EXPECT_EQ(TakeAll(budget, now + seconds(100000)), 33);
  RetryBudget of_all_nodes(10000000);
  EXPECT_EQ(TakeAll(of_all_nodes, now), 1);
  EXPECT_EQ(of_all_nodes.pause(), seconds(1)) << "no longer than between slow attempts";
}

}  // namespace
}  // namespace muster::rendezvous
