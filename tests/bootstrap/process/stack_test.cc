#include "bootstrap/process/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RunTool, GivesWhatItPrints) {
  const ToolOutput ran =
      RunTool({"/bin/sh", "-c", "echo out; echo err >&2"}, "", Deadline::After(seconds(20)));
  EXPECT_TRUE(ran.started);
  EXPECT_TRUE(ran.in_time);
  EXPECT_EQ(ran.output, "out\nerr\n");
}

TEST(RunTool, IsSearchedInThePathThatIsGiven) {
  EXPECT_FALSE(RunTool({"sh", "-c", "true"}, "/proc:/sys", Deadline::After(seconds(20))).started);
  EXPECT_TRUE(RunTool({"sh", "-c", "true"}, "/proc:/bin", Deadline::After(seconds(20))).started);
}

TEST(RunTool, WhatIsNotInstalledIsNotStarted) {
  EXPECT_FALSE(RunTool({"muster-no-such-tool"}, "", Deadline::After(seconds(20))).started);
}

TEST(RunTool, IsEndedAtTheDeadlineWithAllThatItStarted) {
  const ToolOutput ran = RunTool({"/bin/sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, "",
                                 Deadline::After(milliseconds(300)));
  EXPECT_TRUE(ran.started);
  EXPECT_FALSE(ran.in_time);
  EXPECT_EQ(ran.output, "begun\n");
}

TEST(RunTool, ALotOfOutputIsCut) {
  const ToolOutput ran =
      RunTool({"/bin/sh", "-c", "head -c 1000000 /dev/zero"}, "", Deadline::After(seconds(20)));
  EXPECT_TRUE(ran.in_time);
  EXPECT_EQ(ran.output.size(), 65536u);
}

TEST(StackTools, PythonHasItsOwn) {
  EXPECT_EQ(StackTools(true).front().name, "py-spy");
  EXPECT_EQ(StackTools(false).front().name, "eu-stack");
}

TEST(WorkingProcess, IsTheOnlyChildOfAShell) {
  const pid_t outer = fork();
  if (outer == 0) {
    if (fork() == 0) {
      for (;;) pause();
    }
    for (;;) pause();
  }
  const Deadline deadline = Deadline::After(seconds(20));
  while (WorkingProcess(outer) == outer && !deadline.Expired()) usleep(1000);
  const pid_t inner = WorkingProcess(outer);
  EXPECT_NE(inner, outer);
  EXPECT_EQ(WorkingProcess(inner), inner);
  kill(inner, SIGKILL);
  kill(outer, SIGKILL);
  waitpid(outer, nullptr, 0);
}

}  // namespace
}  // namespace muster::process
