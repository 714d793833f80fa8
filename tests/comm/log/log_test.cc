#include "comm/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "comm/base/unique_fd.h"

namespace muster {
namespace {

using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  void SetUp() override { path = testing::TempDir() + "log_test.log"; }
  void TearDown() override {
    SetLogSubject({});
    SetUpLog({});
    unlink(path.c_str());
  }
  void Start(LogLevel level, LogFormat format) { SetUpLog({level, format, path}); }
  std::string Written() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string path;
};

TEST_F(LogTest, TextSaysTheLevelWhereItMatters) {
  Start(LogLevel::kDebug, LogFormat::kText);
  LogDebug("a {}", 1);
  LogInfo("b {}", 2);
  LogWarning("c {}", 3);
  LogError("d {}", 4);
  EXPECT_EQ(Written(), "muster: debug: a 1\nmuster: b 2\nmuster: warning: c 3\nmuster: error: d 4\n");
}

// A terminal obeys escape sequences.
TEST_F(LogTest, TextHasNoControlCharacters) {
  Start(LogLevel::kInfo, LogFormat::kText);
  LogInfo("a\x1b[2J\n\tb\r");
  EXPECT_EQ(Written(), "muster: a%1B[2J\nmuster: \tb%0D\n");
}

TEST_F(LogTest, TheSubjectStandsInFront) {
  Start(LogLevel::kInfo, LogFormat::kText);
  SetLogSubject({5, "gpu03", "slurm:4.0:0"});
  LogWarning("it is cold");
  SetLogSubject({8, "gpu03", "", true, 8});
  LogWarning("there");
  SetLogSubject({{}, "gpu03", ""});
  LogWarning("still");
  SetLogSubject({{}, "gpu03", "launch:7:0", false});
  LogWarning("yet");
  EXPECT_EQ(Written(),
            "muster: rank 5 on gpu03: warning: it is cold\nmuster: ranks 8-15 on gpu03: warning: "
            "there\nmuster: gpu03: warning: still\nmuster: warning: "
            "yet\n");
}

TEST_F(LogTest, TheFileHasANumberThatAllWhoShareItSee) {
  Start(LogLevel::kInfo, LogFormat::kText);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(LogFileNumber(), status.st_ino);
  SetUpLog({LogLevel::kInfo, LogFormat::kText, "/dev/null"});
  EXPECT_EQ(LogFileNumber(), 0u) << "no regular file";
}

// On two machines the same command may have been typed.
TEST_F(LogTest, EachTerminalHasANumber) {
  SetUpLog({LogLevel::kInfo, LogFormat::kText, {}});
  const UniqueFd standard_error(dup(STDERR_FILENO));
  std::vector<uint64_t> numbers;
  std::vector<UniqueFd> open;
  for (int i = 0; i < 2; ++i) {
    int screen = -1;
    int terminal = -1;
    ASSERT_EQ(openpty(&screen, &terminal, nullptr, nullptr, nullptr), 0);
    open.emplace_back(screen);
    open.emplace_back(terminal);
    dup2(terminal, STDERR_FILENO);
    numbers.push_back(LogFileNumber());
    EXPECT_EQ(LogFileNumber(), numbers.back());
  }
  dup2(standard_error.get(), STDERR_FILENO);
  EXPECT_NE(numbers[0], 0u);
  EXPECT_NE(numbers[1], 0u);
  EXPECT_NE(numbers[0], numbers[1]);
}

// A stalled file system blocks the search for a path.
TEST_F(LogTest, TheNumberOfTheFileIsThatOfTheOpenFile) {
  Start(LogLevel::kInfo, LogFormat::kText);
  const uint64_t number = LogFileNumber();
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(LogFileNumber(), number);
}

TEST_F(LogTest, WhatIsBelowTheLevelIsNotWritten) {
  Start(LogLevel::kWarning, LogFormat::kText);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarning));
  LogInfo("not this");
  LogError("this");
  EXPECT_EQ(Written(), "muster: error: this\n");
}

TEST_F(LogTest, OffIsSilent) {
  Start(LogLevel::kOff, LogFormat::kText);
  LogError("nothing");
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  EXPECT_FALSE(LogEnabled(LogLevel::kOff));
  EXPECT_EQ(Written(), "");
}

TEST_F(LogTest, AnEventIsItsSentenceInText) {
  Start(LogLevel::kInfo, LogFormat::kText);
  LogEvent(LogLevel::kWarning, "silent", {{"seconds", 5.2}}, "nothing for {} s", 5.2);
  LogEvent(LogLevel::kDebug, "silent", {}, "not this");
  EXPECT_EQ(Written(), "muster: warning: nothing for 5.2 s\n");
}

TEST_F(LogTest, JsonIsOneObjectALine) {
  Start(LogLevel::kInfo, LogFormat::kJson);
  SetLogSubject({1, "n", "slurm:4.0:0"});
  LogWarning("say \"hi\"\nand \xff");
  EXPECT_THAT(Written(), MatchesRegex("\\{\"time\":\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z\","
                                      "\"level\":\"warning\",\"event\":\"message\",\"rank\":1,\"node\":\"n\","
                                      "\"job\":\"slurm:4.0:0\",\"message\":\"say "
                                      "\\\\\"hi\\\\\"\\\\nand \xef\xbf\xbd\"\\}\n"));
}

TEST_F(LogTest, EveryLineOfAMessageIsMarkedAsOurs) {
  Start(LogLevel::kInfo, LogFormat::kText);
  SetLogSubject({0, "n", ""});
  LogError("one\n  two\n  three");
  EXPECT_EQ(Written(), "muster: rank 0 on n: error: one\nmuster:   two\nmuster:   three\n");
}

TEST_F(LogTest, AMilestoneIsForMonitors) {
  Start(LogLevel::kInfo, LogFormat::kText);
  EXPECT_EQ(MilestoneLevel(), LogLevel::kDebug);
  Start(LogLevel::kInfo, LogFormat::kJson);
  EXPECT_EQ(MilestoneLevel(), LogLevel::kInfo);
}

TEST_F(LogTest, AFileIsAppendedTo) {
  Start(LogLevel::kInfo, LogFormat::kText);
  LogInfo("one");
  Start(LogLevel::kInfo, LogFormat::kText);
  LogInfo("two");
  EXPECT_EQ(Written(), "muster: one\nmuster: two\n");
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsNamedAndStderrIsUsed) {
  testing::internal::CaptureStderr();
  SetUpLog({LogLevel::kInfo, LogFormat::kText, "/proc/no-such-directory/x.log"});
  LogInfo("here");
  FlushLog(Deadline::Never());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "muster: warning: log.file: cannot open /proc/no-such-directory/x.log: No such file or directory; "
      "standard error is used instead\nmuster: here\n");
}

TEST_F(LogTest, WhatADiskIsTooFullForGoesToStderr) {
  testing::internal::CaptureStderr();
  SetUpLog({LogLevel::kInfo, LogFormat::kText, "/dev/full"});
  LogInfo("one");
  LogInfo("two");
  FlushLog(Deadline::Never());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "muster: warning: log.file: cannot write /dev/full: No space left on device; these lines go to "
            "standard error\nmuster: one\nmuster: two\n");
}

TEST_F(LogTest, APipeThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  SetUpLog({LogLevel::kError, LogFormat::kJson, path});
  LogError("here");
  FlushLog(Deadline::Never());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, MatchesRegex("\\{.*\"level\":\"error\".*\"message\":\"here\"\\}\n"));
}

TEST_F(LogTest, WithoutAFileItGoesToStderr) {
  SetUpLog({});
  testing::internal::CaptureStderr();
  LogInfo("here");
  FlushLog(Deadline::Never());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "muster: here\n");
}

}  // namespace
}  // namespace muster
