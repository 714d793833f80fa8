#include "comm/rendezvous/roster/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/log/log.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::MatchesRegex;

TEST(WhenToReport, InALogAfterFiveAndFifteenSecondsThenEveryMinute) {
  EXPECT_EQ(WhenToReport(false, 0), seconds(5));
  EXPECT_EQ(WhenToReport(false, 1), seconds(15));
  EXPECT_EQ(WhenToReport(false, 2), seconds(75));
  EXPECT_EQ(WhenToReport(false, 12), seconds(15) + minutes(11));
}

TEST(WhenToReport, OnATerminalEverySecond) {
  EXPECT_EQ(WhenToReport(true, 0), seconds(2));
  EXPECT_EQ(WhenToReport(true, 9), seconds(11));
}

TEST(WaitReporter, RewritesItsLineAndRemovesItAtTheEnd) {
  net::TestLoop loop;
  int asked = 0;
  testing::internal::CaptureStderr();
  {
    WaitReporter reporter(*loop, true, [&] {
      ++asked;
      return AwaitedRanks{"1/2 ranks", {}};
    });
    WaitReporter silent(*loop, true, [] { return AwaitedRanks{}; });
    EXPECT_TRUE(loop.Until([&] { return asked == 1; }));
    EXPECT_GE(reporter.waited(), seconds(2));
  }
  FlushLog(Deadline::Never());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("\r\x1b\\[Kmuster: waiting 2.[0-9] s: 1/2 ranks\r\x1b\\[K"));
}

TEST(WaitReporter, SaysNothingAboutAShortWait) {
  net::TestLoop loop;
  testing::internal::CaptureStderr();
  {
    WaitReporter reporter(*loop, true, [] { return AwaitedRanks{"x", {}}; });
  }
  loop.Settle();
  FlushLog(Deadline::Never());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace muster::rendezvous
