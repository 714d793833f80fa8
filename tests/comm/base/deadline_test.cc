#include "comm/base/deadline.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(Deadline, NeverHasNoEnd) {
  const Deadline never = Deadline::Never();
  EXPECT_TRUE(never.IsNever());
  EXPECT_FALSE(never.Expired());
  EXPECT_EQ(never.Remaining(), Duration::max());
  EXPECT_EQ(never.PollMilliseconds(), -1);
}

TEST(Deadline, ThePastIsOverAndNeverNegative) {
  const Deadline past = Deadline::After(-hours(1));
  EXPECT_TRUE(past.Expired());
  EXPECT_EQ(past.Remaining(), Duration::zero());
  EXPECT_EQ(past.PollMilliseconds(), 0);
}

TEST(Deadline, ADurationBeyondTheClockDoesNotWrap) {
  EXPECT_EQ(Deadline::After(Duration::max()), Deadline::Never());
  const Deadline century = Deadline::After(hours(24 * 365 * 100));
  EXPECT_FALSE(century.IsNever());
  EXPECT_FALSE(century.Expired());
  EXPECT_EQ(century.PollMilliseconds(), std::numeric_limits<int>::max());
}

TEST(Deadline, PollsRoundedUp) {
  const Deadline soon = Deadline::After(hours(1) + nanoseconds(1));
  const int milliseconds_left = soon.PollMilliseconds();
  EXPECT_GE(milliseconds(milliseconds_left), soon.Remaining());
  EXPECT_GT(milliseconds_left, 0);
}

TEST(Deadline, TheEarlierOfTwo) {
  const Deadline soon = Deadline::After(hours(1));
  EXPECT_EQ(soon.EarlierOf(Deadline::Never()), soon);
  EXPECT_EQ(Deadline::Never().EarlierOf(soon), soon);
}

}  // namespace
}  // namespace muster
