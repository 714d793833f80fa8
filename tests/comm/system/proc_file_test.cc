#include "comm/system/proc_file.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

namespace muster {
namespace {

TEST(ReadProcFile, ReadsAFileOfUnknownLength) {
  const auto status = ReadProcFile("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("\nPid:\t" + std::to_string(getpid()) + "\n"), std::string::npos);
}

TEST(ReadProcFile, HasNothingOfAProcessThatIsNotThere) {
  EXPECT_EQ(ReadProcFile("/proc/0/comm"), std::nullopt);
}

TEST(NumbersIn, AreTheProcessesOfProc) {
  const std::vector<int> numbers = NumbersIn("/proc");
  EXPECT_EQ(std::ranges::count(numbers, getpid()), 1);
  EXPECT_TRUE(NumbersIn("/proc/0").empty());
}

TEST(StatFields, AreNumberedAsInProc5WhateverTheName) {
  const std::vector<std::string_view> fields = StatFields("7 (a) S (b) R 1 7\n");
  ASSERT_EQ(fields.size(), 6U);
  EXPECT_EQ(fields[1], "7");
  EXPECT_EQ(fields[2], "a) S (b");
  EXPECT_EQ(fields[3], "R");
  EXPECT_EQ(fields[5], "7");
}

TEST(StatFields, OfOtherTextThereAreNone) {
  for (const char* text : {"", "7", "7 (a", "7 a) S", ") (", "7 (a)"}) {
    EXPECT_TRUE(StatFields(text).empty()) << text;
  }
}

TEST(StatField, IsEmptyOfNoProcess) {
  EXPECT_EQ(StatField(getpid(), kStatPid), std::to_string(getpid()));
  EXPECT_EQ(StatField(0, kStatPid), "");
}

TEST(ParentOf, IsKnownOfLivingProcesses) {
  EXPECT_EQ(ParentOf(getpid()), getppid());
  EXPECT_EQ(ParentOf(0), std::nullopt);
}

TEST(ProcessName, IsTheKernelsNameForIt) {
  ASSERT_EQ(prctl(PR_SET_NAME, "odd (name)"), 0);
  EXPECT_EQ(ProcessName(getpid()), "odd (name)");
  EXPECT_EQ(ProcessName(0), "?");
}

}  // namespace
}  // namespace muster
