// How `muster launch` and `muster run` end when a signal asks them to.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kShortGrace = "run.grace=200ms";
constexpr auto kNoGraceEnds = "run.grace=1h";

// Until it is killed, unless the test has failed long ago.
const std::string kIgnores = R"(trap '' INT TERM HUP; : >@/ready.$RANK; exec sleep 300)";
const std::string kOnQuit = R"(trap ': >@/heard.$RANK' QUIT; : >@/ready.$RANK
  until [ -e @/go ]; do sleep 0.05; done; [ "$RANK" != 1 ] || exit 7)";

TEST(Ending, ProgramsThatIgnoreASignalAreTerminatedThenKilled) {
  for (const auto& [number, name] : {std::pair(SIGINT, "SIGINT"), {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}) {
    Launched muster({"launch", "-n", "2", "--set", kShortGrace, "--", "sh", "-c", kIgnores});
    ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
    muster.Send(number);
    EXPECT_EQ(muster.Wait(), 128 + number) << name;
    const std::string said = muster.Err();
    EXPECT_THAT(said,
                HasSubstr("waiting for ranks 0,1 to exit; no exit within run.grace (200ms): SIGKILL sent\n"));
    if (number == SIGTERM) {
      EXPECT_THAT(said, Not(HasSubstr("SIGTERM sent"))) << "it was passed on already";
    } else {
      EXPECT_THAT(
          said, HasSubstr("waiting for ranks 0,1 to exit; no exit within run.grace (200ms): SIGTERM sent\n"));
    }
    EXPECT_THAT(
        said, HasSubstr(std::string(number == SIGINT ? "interrupted" : "terminated") + " (" + name + ")\n"));
  }
}

TEST(Ending, FurtherInterruptsDoNotWait) {
  Launched muster(
      {"launch", "-n", "2", "--set", kNoGraceEnds, "--", "sh", "-c",
       "trap '' TERM; trap ': >@/heard.$RANK' INT; : >@/ready.$RANK; while :; do sleep 0.05; done"});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGINT);
  // Two that come together are one to the kernel.
  ASSERT_TRUE(muster.Appear({"heard.0", "heard.1"})) << muster.Err();
  muster.Send(SIGINT);
  EXPECT_TRUE(muster.Says("waiting for ranks 0,1 to exit; SIGINT again: SIGTERM sent\n")) << muster.Err();
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 130);
  EXPECT_THAT(muster.Err(), HasSubstr("waiting for ranks 0,1 to exit; SIGINT again: SIGKILL sent\n"));
}

TEST(Ending, AWorldOfOneWithoutALauncherIsEndedAsWell) {
  Launched muster({"run", "--set", kShortGrace, "--", "sh", "-c", kIgnores});
  ASSERT_TRUE(muster.Appear({"ready.0"})) << muster.Err();
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 130);
  EXPECT_THAT(muster.Err(), HasSubstr("interrupted (SIGINT)\n"));
}

TEST(Ending, AProgramThatEndsInTimeKeepsItsStatus) {
  Launched muster({"launch", "-n", "2", "--set", kNoGraceEnds, "--", "sh", "-c",
                   "trap 'exit 0' TERM; : >@/ready.$RANK; while :; do sleep 0.05; done"});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGTERM);
  EXPECT_EQ(muster.Wait(), 0);
  EXPECT_THAT(muster.Err(), Not(HasSubstr("muster: ")));
}

// The test traces it and holds it in its exit, as the kernel holds a process in state D.
TEST(Ending, AProgramThatSigkillDoesNotEndIsNamedAndLeftBehind) {
  const std::string script =
      "[ $RANK = 0 ] || { until [ -e @/go ]; do sleep 0.05; done; exit 3; }; "
      "echo $$ >@/pid && mv @/pid @/held; exec sleep 300";
  Launched muster({"launch", "-n", "2", "--set", kShortGrace, "--", "sh", "-c", script});
  ASSERT_TRUE(muster.Appear({"held"})) << muster.Err();
  const pid_t held = std::stoi(ContentOf(muster.File("held")));
  ASSERT_EQ(ptrace(PTRACE_SEIZE, held, nullptr, PTRACE_O_TRACEEXIT), 0) << strerror(errno);
  std::ofstream(muster.File("go")) << "";
  EXPECT_EQ(muster.Wait(), 3);
  EXPECT_THAT(muster.Err(), HasSubstr(": process " + std::to_string(held) +
                                      " still runs 10s after SIGKILL: SIGKILL did not end it (state t"));
  EXPECT_THAT(muster.Err(), Not(HasSubstr("still runs after SIGKILL"))) << "it is named once";
  waitpid(held, nullptr, __WALL);
  ptrace(PTRACE_DETACH, held, nullptr, nullptr);
}

// A thread dump is no request to end: nothing is killed, and a later failure is one like any other.
TEST(Ending, AProgramThatOutlivesAQuitFailsByItself) {
  Launched muster(
      {"launch", "-n", "2", "--max-restarts", "1", "--set", kShortGrace, "--", "sh", "-c", kOnQuit});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGQUIT);
  ASSERT_TRUE(muster.Appear({"heard.0", "heard.1"})) << muster.Err();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // five times run.grace
  std::ofstream(muster.File("go")) << "";
  EXPECT_EQ(muster.Wait(), 7);
  const std::string said = muster.Err();
  EXPECT_THAT(said, Not(HasSubstr("waiting for ")));
  EXPECT_THAT(said, HasSubstr("rank 1 on "));
  EXPECT_THAT(said, HasSubstr(" failed: exit 7\n"));
  EXPECT_THAT(said, HasSubstr("the run failed after "));
  EXPECT_THAT(said, HasSubstr("starting again: restart 1 of 1\n"));
}

// The time is up for a map: no failure, and the other ranks end by themselves.
TEST(Ending, AProgramWhoseTimeIsUp) {
  Launched muster({"launch", "-n", "2", "--max-restarts", "1", "--set", kNoGraceEnds, "--", "sh", "-c",
                   "[ $RANK = 1 ] || { until [ -e @/go ]; do sleep 0.05; done; : >@/saved; }; exit 80"});
  ASSERT_TRUE(muster.Says("muster: rank 1 on ")) << muster.Err();
  std::ofstream(muster.File("go")) << "";
  EXPECT_EQ(muster.Wait(), 80);
  EXPECT_TRUE(muster.Appear({"saved"})) << muster.Err();
  const std::string said = muster.Err();
  EXPECT_THAT(said, HasSubstr(" exited with 80: the time is up, and work is left (start the same command "
                              "again: it continues with the rest)\n"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST(Ending, OtherRanksOfARunWhoseTimeIsUpAreEndedAfterItsGrace) {
  Launched muster({"launch", "-n", "2", "--set", kShortGrace, "--", "sh", "-c",
                   "[ $RANK = 1 ] || exec sleep 300; exit 80"});
  EXPECT_EQ(muster.Wait(), 80);
  EXPECT_EQ(std::ranges::count(muster.Err(), '\n'), 1) << muster.Err();
}

TEST(Ending, AWorldOfOneWhoseTimeIsUp) {
  Launched muster({"run", "--launcher", "none", "--", "sh", "-c", "exit 80"});
  EXPECT_EQ(muster.Wait(), 80);
  EXPECT_THAT(muster.Err(), HasSubstr(" exited with 80: the time is up, and work is left (start the same "));
  EXPECT_EQ(std::ranges::count(muster.Err(), '\n'), 1) << muster.Err();
}

// A launcher ends the programs itself after its SIGTERM: a rank that has ended because of it does not end those
// that still write a checkpoint, and muster sends them nothing.
TEST(Ending, ARankThatALauncherHasEndedEndsNoOtherRank) {
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "1", 1);
  setenv("LOCAL_RANK", "0", 1);
  Launched muster({"run", "--launcher", "torch-env", "--nproc-per-node", "2", "--set", kShortGrace, "--",
                   "sh", "-c", R"([ $RANK = 0 ] || { : >@/ready.1; exec sleep 300; }
                     trap 'echo term >>@/heard; over=yes' TERM; : >@/ready.0
                     until [ "$over" ]; do sleep 0.05; done
                     sleep 3; : >@/saved)"});
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) unsetenv(name);
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGTERM);
  EXPECT_EQ(muster.Wait(), 143);
  EXPECT_TRUE(std::filesystem::exists(muster.File("saved"))) << muster.Err();
  EXPECT_EQ(ContentOf(muster.File("heard")), "term\n");
  EXPECT_THAT(muster.Err(), HasSubstr(" to exit; no exit within run.grace (200ms) of SIGTERM\n"));
}

// No process reads the last lines of the log: Ctrl-C ends the wait for a reader, and is a request to end like any other.
TEST(Ending, ASignalDuringTheLastLinesIsFollowedByNoRestart) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (write(ends[1], "x", 1) == 1) {
  }
  fcntl(ends[1], F_SETFL, 0);
  // The report is written just before the last lines.
  Launched muster({"launch", "-n", "2", "--max-restarts", "3", "--report", "@/report", "--", "sh", "-c",
                   "[ $RANK = 0 ] || exit 0; echo attempt >>@/attempts; exit 3"},
                  "/dev/null", -1, ends[1]);
  ASSERT_TRUE(muster.Appear({"report"}));
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 3);
  EXPECT_EQ(ContentOf(muster.File("attempts")), "attempt\n");
  close(ends[0]);
  close(ends[1]);
}

// The file of run.report is on a file system that does not answer, here a named pipe that is full.
TEST(Ending, AReportThatCannotBeWrittenHoldsUpNeitherOrphansNorSignals) {
  const std::string pipe = testing::TempDir() + "/report_pipe." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int end = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  while (write(end, "x", 1) == 1) {
  }
  const std::string script =
      "[ $RANK = 0 ] || exit 0; setsid sh -c 'echo $$ >@/pid && mv @/pid @/daemon; exec sleep 300' & "
      "until [ -e @/daemon ]; do sleep 0.05; done";
  Launched muster({"launch", "-n", "2", "--report", pipe, "--", "sh", "-c", script});
  ASSERT_TRUE(muster.Appear({"daemon"}));
  const pid_t daemon = std::stoi(ContentOf(muster.File("daemon")));
  while (kill(daemon, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 0);
  EXPECT_THAT(muster.Err(), HasSubstr("cannot write the report " + pipe + ": not written before SIGINT"));
  close(end);
  unlink(pipe.c_str());
}

// How long a run takes in which every rank fails after a line that no process reads.
double SecondsWithAStoppedReader(int ranks) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (write(ends[1], "x", 1) == 1) {
  }
  fcntl(ends[1], F_SETFL, 0);  // blocking, as a terminal is
  const auto began = std::chrono::steady_clock::now();
  Launched muster({"launch", "-n", std::to_string(ranks), "--label", "--", "sh", "-c",
                   "trap '' TERM; echo a line; exit 3"},
                  "/dev/null", ends[1]);
  EXPECT_EQ(muster.Wait(), 3) << muster.Err();
  EXPECT_THAT(muster.Err(), HasSubstr(" failed: exit 3\n"));
  close(ends[0]);
  close(ends[1]);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// The ranks' last lines are waited for together, not one after the other.
TEST(Ending, AStoppedReaderDelaysManyRanksAsLittleAsTwo) {
  const double two = SecondsWithAStoppedReader(2);
  const double many = SecondsWithAStoppedReader(64);
  EXPECT_LT(many, two + 15);
}

}  // namespace
}  // namespace muster::cli
