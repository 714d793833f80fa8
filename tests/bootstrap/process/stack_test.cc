#include "bootstrap/process/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "comm/system/process_end.h"
#include "tests/comm/base/folder.h"

namespace muster::process {
namespace {

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

// Another user may have put something there.
TEST(RunTool, IsNotSearchedInTheWorkingDirectory) {
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("below");
  for (const char* name : {"eu-stack", "below/eu-stack"}) {
    folder.Write(name, "#!/bin/sh\necho planted\n");
    std::filesystem::permissions(name, std::filesystem::perms::all);
  }
  for (const char* path : {":/proc", ".:/proc", "below:/proc"})
    EXPECT_EQ(RunTool({"eu-stack"}, path, Deadline::After(seconds(20))).output, "") << path;
  std::filesystem::current_path(before);
}

TEST(RunTool, WhatIsNotInstalledIsNotStarted) {
  EXPECT_FALSE(RunTool({"muster-no-such-tool"}, "", Deadline::After(seconds(20))).started);
}

TEST(RunTool, IsEndedAtTheDeadlineWithAllThatItStarted) {
  const ToolOutput ran =
      RunTool({"/bin/sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, "", Deadline::After(seconds(3)));
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

// A directory with a tool that attaches and never lets the process go.
std::string ToolThatHoldsOn() {
  const std::filesystem::path tools = std::filesystem::path(testing::TempDir()) / "tools";
  std::filesystem::create_directories(tools);
  std::filesystem::remove(tools / "eu-stack");
  std::filesystem::create_symlink(std::filesystem::absolute("tests/bootstrap/process/attach_and_wait"),
                                  tools / "eu-stack");
  return tools;
}

pid_t Waiting() {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // for kernel.yama.ptrace_scope 1
  for (;;) pause();
}

TEST(ReadStack, AToolThatIsEndedLeavesNobodyStopped) {
  const pid_t pid = Waiting();
  const std::string text = ReadStack(pid, ToolThatHoldsOn(), Deadline::After(seconds(3)));
  EXPECT_THAT(text, testing::HasSubstr("eu-stack:\nattached\neu-stack did not end in time\n"));
  // A process that goes on dies of SIGTERM. One that is stopped keeps it pending.
  EXPECT_EQ(kill(pid, SIGTERM), 0);
  EXPECT_TRUE(ProcessEnd::Of(pid).Await(Deadline::After(seconds(20))));
  kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST(ReadStack, AProcessThatWasStoppedStaysSo) {
  const pid_t pid = Waiting();
  kill(pid, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  ReadStack(pid, ToolThatHoldsOn(), Deadline::After(seconds(3)));
  EXPECT_EQ(waitpid(pid, &status, WNOHANG | WCONTINUED), 0);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
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
