#include "comm/log/log_time.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <functional>
#include <string>

#include "comm/base/unique_fd.h"
#include "comm/log/log.h"

namespace muster {
namespace {

using testing::MatchesRegex;

constexpr auto kWhen = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'763'950'332'007));

void SetZone(const char* zone) {
  setenv("TZ", zone, 1);
  tzset();
}

TEST(LogTime, ShortIsTheClockOfTheUser) {
  SetZone("UTC0");
  EXPECT_EQ(LogTimeText(kWhen, LogTime::kShort), "02:12:12 ");
  SetZone("IST-5:30");
  EXPECT_EQ(LogTimeText(kWhen, LogTime::kShort), "07:42:12 ");
}

TEST(LogTime, FullHasDateMillisecondsAndOffset) {
  SetZone("UTC0");
  EXPECT_EQ(LogTimeText(kWhen, LogTime::kFull), "2025-11-24T02:12:12.007+00:00 ");
  SetZone("IST-5:30");
  EXPECT_EQ(LogTimeText(kWhen, LogTime::kFull), "2025-11-24T07:42:12.007+05:30 ");
  SetZone("NST3:30");
  EXPECT_EQ(LogTimeText(kWhen, LogTime::kFull), "2025-11-23T22:42:12.007-03:30 ");
}

// A message of two lines, with standard error at a new terminal.
std::string OnATerminal(LogTime form) {
  const UniqueFd terminal(posix_openpt(O_RDWR | O_NOCTTY));
  if (grantpt(terminal.get()) != 0 || unlockpt(terminal.get()) != 0) return "no terminal";
  const UniqueFd kept(dup(STDERR_FILENO));
  const UniqueFd slave(open(ptsname(terminal.get()), O_WRONLY | O_NOCTTY));
  dup2(slave.get(), STDERR_FILENO);
  SetUpLog({});
  SetLogTime(form);
  LogInfo("one\ntwo");
  dup2(kept.get(), STDERR_FILENO);
  std::string text;
  while (text.find("two\r\n") == std::string::npos) {
    std::array<char, 256> piece{};
    const ssize_t size = read(terminal.get(), piece.data(), piece.size());
    if (size <= 0) break;
    text.append(piece.data(), static_cast<size_t>(size));
  }
  return text;
}

TEST(LogTime, EachLineOnATerminalHasTheShortOne) {
  EXPECT_THAT(OnATerminal(LogTime::kAuto),
              MatchesRegex("[0-9:]{8} muster: one\r\n[0-9:]{8} muster: two\r\n"));
}

TEST(LogTime, ATerminalGetsTheFormThatIsAskedFor) {
  EXPECT_THAT(OnATerminal(LogTime::kFull),
              MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}[+-][0-9:]{5} muster: one\r\n.*"));
}

std::string ElsewhereAfter(const std::function<void()>& write) {
  testing::internal::CaptureStderr();
  write();
  FlushLog(Deadline::Never());
  return testing::internal::GetCapturedStderr();
}

TEST(LogTime, ElsewhereItIsTheFullOne) {
  EXPECT_THAT(ElsewhereAfter([] {
                SetUpLog({});
                SetLogTime(LogTime::kAuto);
                LogWarning("cold");
              }),
              MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}[+-][0-9:]{5} muster: warning: cold\n"));
}

TEST(LogTime, AnAnswerToACommandLineHasNone) {
  EXPECT_EQ(ElsewhereAfter([] {
              SetUpLog({});
              SetLogTime(LogTime::kNone);
              LogWarning("cold");
            }),
            "muster: warning: cold\n");
}

}  // namespace
}  // namespace muster
