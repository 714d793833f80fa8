#include "comm/log/rejection_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <list>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/base/log_capture.h"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class RejectionLogTest : public testing::Test {
 protected:
  void Reject(int times, Duration after = Duration::zero()) { Reject(*rejections, times, after); }
  void Reject(RejectionLog& by, int times, Duration after = Duration::zero()) {
    for (int i = 0; i < times; ++i) by.Add(LogLevel::kWarning, {{"uid", 7}}, "rejected uid 7", begin + after);
  }
  int64_t Lines() const {
    const std::string text = log.Text();
    return std::ranges::count(text, '\n');
  }

  static void ExitOfChild(const std::function<void()>& run) {
    const pid_t child = fork();
    if (child == 0) {
      run();
      exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  // The rejections that the log has, singly or in a sum.
  int64_t Counted() const {
    std::istringstream text(log.Text());
    int64_t counted = 0;
    for (std::string line; std::getline(text, line);) {
      const size_t sum = line.find("rejected ") + 9;
      counted += line.find(" more ") == std::string::npos ? 1 : std::stoll(line.substr(sum));
    }
    return counted;
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

// As with `muster run --max-restarts` beside a peer that connects in a loop.
TEST_F(RejectionLogTest, LogsThatFollowOneAnotherShareTheMinute) {
  std::vector<int64_t> lines = {0};
  int64_t rejected = 0;
  for (int second = 0; second < 200; ++second) {
    if (second % 2 == 0) {
      rejections.emplace("connections");
      Reject(50, seconds(second));
      rejected += 50;
      rejections.reset();
    }
    lines.push_back(Lines());
  }
  for (size_t end = 60; end < lines.size(); ++end)
    EXPECT_LE(lines[end] - lines[end - 60], 20) << "at " << end << " s";
  rejections.emplace("connections");
  Reject(1, seconds(300));
  EXPECT_EQ(Counted(), rejected + 1);
}

// The minute had its line.
TEST_F(RejectionLogTest, TheLastSumIsLoggedByExit) {
  ExitOfChild([&] {
    RejectionLog::ResetForTest();
    Reject(8);
    Reject(8, seconds(60));
    rejections.reset();
    rejections.emplace("connections");
    Reject(8, seconds(61));
    rejections.reset();
  });
  EXPECT_EQ(Counted(), 24);
}

TEST_F(RejectionLogTest, TheSumsOfAProcessAreNotThoseOfItsForkedChildren) {
  Reject(7);
  ExitOfChild([] {});
  EXPECT_EQ(Lines(), 5);
}

TEST_F(RejectionLogTest, NoSumWhereAllWereLogged) {
  Reject(5);
  Reject(1, seconds(61));
  rejections.reset();
  EXPECT_EQ(Lines(), 6);
}

// As many as a process has, and one more.
class SeveralListeners : public RejectionLogTest {
 protected:
  SeveralListeners() {
    rejections.reset();
    for (const char* subject : {"doors", "gates", "hatches", "locks", "ports", "windows"})
      listeners.emplace_back(subject);
  }
  std::list<RejectionLog> listeners;
};

TEST_F(SeveralListeners, AllAtOnceWriteTwentyLinesAMinuteInAll) {
  std::vector<int64_t> lines = {0};
  for (int second = 0; second < 200; ++second) {
    for (RejectionLog& listener : listeners) Reject(listener, 50, seconds(second));
    lines.push_back(Lines());
  }
  listeners.clear();
  lines.push_back(Lines());
  for (size_t end = 60; end < lines.size(); ++end)
    EXPECT_LE(lines[end] - lines[end - 60], 20) << "at " << end << " s";
}

TEST_F(SeveralListeners, TheSumNamesEachWithItsCount) {
  Reject(listeners.front(), 5);
  Reject(listeners.back(), 8);
  Reject(*std::next(listeners.begin()), 1);
  listeners.pop_front();
  EXPECT_THAT(log.Text(), Not(HasSubstr("more")));
  Reject(listeners.back(), 1, seconds(60));
  EXPECT_THAT(log.Text(), HasSubstr("rejected 7 more windows (not logged one by one)\n"));
  for (RejectionLog& listener : listeners) Reject(listener, 10, seconds(60));
  Reject(listeners.back(), 1, seconds(120));
  EXPECT_THAT(log.Text(), HasSubstr("rejected 6 more gates, 9 more hatches, 9 more locks, 9 more ports, "
                                    "10 more windows (not logged one by one)\n"));
}

// A flood at one listener does not hide the first rejection at another.
TEST_F(SeveralListeners, TheFirstOfEachOfFiveIsLogged) {
  Reject(listeners.front(), 1000);
  listeners.pop_front();
  for (RejectionLog& listener : listeners) {
    const int64_t before = Lines();
    Reject(listener, 1000);
    EXPECT_EQ(Lines() - before, &listener == &listeners.back() ? 0 : 1);
  }
}

TEST_F(SeveralListeners, CountOnSeveralThreads) {
  std::vector<std::thread> threads;
  for (RejectionLog& listener : listeners) threads.emplace_back([&] { Reject(listener, 1000); });
  for (std::thread& thread : threads) thread.join();
  const int64_t singly = Lines();
  EXPECT_LE(singly, 9);
  listeners.clear();
  EXPECT_EQ(Lines(), singly + 1);
}

}  // namespace
}  // namespace muster
