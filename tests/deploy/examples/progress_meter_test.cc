#include "deploy/examples/progress_meter.h"

#include <gtest/gtest.h>

namespace muster::examples {
namespace {

using std::chrono::milliseconds;

// One call a percent, at the same intervals; everything that was written.
std::string Play(bool terminal, milliseconds length) {
  const Clock::time_point start{};
  ProgressMeter meter(terminal, start);
  std::string written;
  for (int percent = 1; percent <= 100; ++percent) {
    written += meter.Advance(static_cast<uint64_t>(percent), 100, start + length * percent / 100);
  }
  return written + meter.Finish();
}

TEST(ProgressMeter, SaysNothingAboutAnInstant) {
  EXPECT_EQ(Play(false, milliseconds(499)), "");
  EXPECT_EQ(Play(true, milliseconds(499)), "");
}

TEST(ProgressMeter, LogsQuarters) {
  EXPECT_EQ(Play(false, milliseconds(40000)),
            "digits: 25 % after 10.0 s\n"
            "digits: 50 % after 20.0 s\n"
            "digits: 75 % after 30.0 s\n");
}

TEST(ProgressMeter, LeavesOutTheQuartersOfTheFirstHalfSecond) {
  EXPECT_EQ(Play(false, milliseconds(1000)), "digits: 50 % after 0.5 s\ndigits: 75 % after 0.8 s\n");
}

TEST(ProgressMeter, RedrawsOneLineFourTimesASecondAndClearsIt) {
  EXPECT_EQ(Play(true, milliseconds(1000)),
            "\r\033[Kdigits: 50 % after 0.5 s"
            "\r\033[Kdigits: 75 % after 0.8 s"
            "\r\033[Kdigits: 100 % after 1.0 s"
            "\r\033[K");
}

TEST(ProgressMeter, ManagesARankWithoutRows) {
  const Clock::time_point start{};
  ProgressMeter meter(false, start);
  EXPECT_EQ(meter.Advance(0, 0, start + milliseconds(9000)), "");
}

}  // namespace
}  // namespace muster::examples
