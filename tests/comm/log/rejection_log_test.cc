#include "comm/log/rejection_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/comm/base/log_capture.h"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class RejectionLogTest : public testing::Test {
 protected:
  void Reject(int times, Duration after = Duration::zero()) {
    for (int i = 0; i < times; ++i)
      rejections->Add(LogLevel::kWarning, {{"uid", 7}}, "rejected uid 7", begin + after);
  }
  int64_t Lines() const {
    const std::string text = log.Text();
    return std::ranges::count(text, '\n');
  }

  const LogCapture log;
  const Clock::time_point begin = Clock::now();
  std::optional<RejectionLog> rejections{"connections"};
};

TEST_F(RejectionLogTest, TheFirstOfAMinuteAreLogged) {
  Reject(1);
  EXPECT_THAT(log.Text(), HasSubstr("rejected uid 7\n"));
  Reject(100'000);
  EXPECT_EQ(Lines(), 5);
  EXPECT_EQ(rejections->count(), 100'001u);
}

TEST_F(RejectionLogTest, TheRestIsOneLineAMinuteLater) {
  Reject(8);
  Reject(1, seconds(60));
  EXPECT_THAT(log.Text(), HasSubstr("rejected 3 more connections (not logged one by one)\n"));
  EXPECT_EQ(Lines(), 7);
}

TEST_F(RejectionLogTest, TheRestIsLoggedAtTheEnd) {
  Reject(7);
  rejections.reset();
  EXPECT_THAT(log.Text(), HasSubstr("rejected 2 more connections (not logged one by one)\n"));
}

TEST_F(RejectionLogTest, NoSumWhereAllWereLogged) {
  Reject(5);
  Reject(1, seconds(61));
  rejections.reset();
  EXPECT_EQ(Lines(), 6);
}

}  // namespace
}  // namespace muster
