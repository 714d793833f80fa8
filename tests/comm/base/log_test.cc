#include "comm/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace muster {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  void SetUp() override { path = testing::TempDir() + "log_test.log"; }
  void TearDown() override {
    SetLogSubject("");
    ASSERT_TRUE(SetUpLog({}));
    unlink(path.c_str());
  }
  void Start(LogLevel level, LogFormat format) { ASSERT_TRUE(SetUpLog({level, format, path})); }
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

TEST_F(LogTest, TheSubjectStandsInFront) {
  Start(LogLevel::kInfo, LogFormat::kText);
  SetLogSubject("rank 5 on gpu03");
  LogWarning("it is cold");
  EXPECT_EQ(Written(), "muster: rank 5 on gpu03: warning: it is cold\n");
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

TEST_F(LogTest, JsonIsOneObjectALine) {
  Start(LogLevel::kInfo, LogFormat::kJson);
  SetLogSubject("rank 1 on n");
  LogWarning("say \"hi\"\nand \xff");
  EXPECT_THAT(Written(),
              MatchesRegex(
                  "\\{\"time\":[0-9.e+]+,\"level\":\"warning\",\"subject\":\"rank 1 on n\",\"message\":\"say "
                  "\\\\\"hi\\\\\"\\\\nand \xef\xbf\xbd\"\\}\n"));
}

TEST_F(LogTest, AFileIsAppendedTo) {
  Start(LogLevel::kInfo, LogFormat::kText);
  LogInfo("one");
  Start(LogLevel::kInfo, LogFormat::kText);
  LogInfo("two");
  EXPECT_EQ(Written(), "muster: one\nmuster: two\n");
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsNamed) {
  const Status failed = SetUpLog({LogLevel::kInfo, LogFormat::kText, "/proc/no-such-directory/x.log"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kConfiguration);
  EXPECT_THAT(failed.error().message, testing::StartsWith("log.file: "));
  EXPECT_THAT(failed.error().message, HasSubstr("/proc/no-such-directory"));
  EXPECT_EQ(failed.error().hint, "name a file in a directory that exists and that you may write");
}

TEST_F(LogTest, WithoutAFileItGoesToStderr) {
  ASSERT_TRUE(SetUpLog({}));
  testing::internal::CaptureStderr();
  LogInfo("here");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "muster: here\n");
}

}  // namespace
}  // namespace muster
