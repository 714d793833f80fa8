// A file system that does not answer delays neither signals nor, if muster can do without, the programs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

class StalledFiles : public testing::Test {
 protected:
  void Stall(const std::string& in_path) const {
    const std::string preloaded =
        std::filesystem::absolute("tests/bootstrap/cli/libstalled_open.so").string() + ":" +
        std::filesystem::absolute("tests/comm/base/libclock_ahead.so").string();
    setenv("LD_PRELOAD", preloaded.c_str(), 1);
    setenv("STALLED_OPEN", in_path.c_str(), 1);
    setenv("CLOCK_AHEAD", clock_.File("seconds").c_str(), 1);
  }
  // For the clock of muster. A signal that it takes for the end of a child wakes it.
  void LetAMinutePass(const Launched& muster) const {
    clock_.Write("seconds", std::string(60, ' '));
    muster.Send(SIGCHLD);
  }
  ~StalledFiles() override {
    for (const char* const name : {"LD_PRELOAD", "STALLED_UNTIL", "CLOCK_AHEAD"}) unsetenv(name);
  }

  const Folder clock_;
};

TEST_F(StalledFiles, OfTheOutputAreOpenedBesideTheLoop) {
  for (const std::string ranks : {"1", "2"}) {
    Stall("rank0.0.");
    Launched muster(
        {"launch", "-n", ranks, "--log-dir", "@/logs", "--report", "@/report.json", "--", "true"});
    ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
    muster.Send(SIGINT);
    EXPECT_EQ(muster.Wait(), 130) << muster.Err();
    EXPECT_THAT(muster.Err(), testing::Not(testing::HasSubstr("forming")));
    const std::string report = ContentOf(muster.File("report.json"));
    EXPECT_THAT(report, testing::ContainsRegex("\"outcome\": ?\"not_started\""));
    EXPECT_THAT(report, testing::Not(testing::HasSubstr("\"lost\"")));
  }
}

// SIGUSR1 often requests a checkpoint, and SIGQUIT a thread dump; here both end the program.
TEST_F(StalledFiles, OfTheOutputDelayASignalUntilTheProgramsHaveStarted) {
  const std::string gate = testing::TempDir() + "/gate";
  for (const int number : {SIGUSR1, SIGQUIT}) {
    for (const std::string ranks : {"1", "2"}) {
      unlink(gate.c_str());
      ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
      Stall("rank0.0.");
      setenv("STALLED_UNTIL", gate.c_str(), 1);
      Launched muster({"launch", "-n", ranks, "--log-dir", "@/logs", "--", "sleep", "300"});
      ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
      muster.Send(number);
      const int opened = open(gate.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_EQ(muster.Wait(), 128 + number) << muster.Err();
      close(opened);
    }
  }
}

TEST_F(StalledFiles, OfTheOutputThatAreNotOpenedWithinAMinuteAreNamed) {
  Stall("rank1.0.");
  Launched muster({"launch", "-n", "2", "--log-dir", "@/logs", "--", "sleep", "300"});
  ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
  LetAMinutePass(muster);
  EXPECT_EQ(muster.Wait(), 75) << muster.Err();
  EXPECT_THAT(muster.Err(), testing::ContainsRegex("/logs/rank1[.]0[.][^ ]*[.]out: not opened within 1m"));
}

TEST_F(StalledFiles, OfRunExpectAreExaminedBesideTheLoop) {
  for (const std::string ranks : {"1", "2"}) {
    Stall("/scores");
    Launched muster({"launch", "-n", ranks, "--expect", "@/scores", "--", "sleep", "300"});
    ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
    muster.Send(SIGINT);
    EXPECT_EQ(muster.Wait(), 130) << muster.Err();
  }
}

TEST_F(StalledFiles, OfRunExpectDelayASignalUntilTheProgramsHaveStarted) {
  const std::string gate = testing::TempDir() + "/gate";
  unlink(gate.c_str());
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  Stall("/scores");
  setenv("STALLED_UNTIL", gate.c_str(), 1);
  Launched muster({"launch", "-n", "1", "--expect", "@/scores", "--", "sleep", "300"});
  ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
  muster.Send(SIGUSR1);
  const int opened = open(gate.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(muster.Wait(), 128 + SIGUSR1) << muster.Err();
  close(opened);
}

TEST_F(StalledFiles, OfRunExpectThatAreNotExaminedWithinAMinuteEndTheRun) {
  for (const std::string ranks : {"1", "2"}) {
    clock_.Write("seconds", "");
    Stall("/scores");
    Launched muster({"launch", "-n", ranks, "--expect", "@/scores", "--", "sleep", "300"});
    ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
    LetAMinutePass(muster);
    EXPECT_EQ(muster.Wait(), 75) << muster.Err();
    EXPECT_THAT(muster.Err(),
                testing::HasSubstr("the files of run.expect could not be examined: no answer for 1m (check"));
  }
}

TEST_F(StalledFiles, OfTheLogDoNotDelayTheEndOfTheProgramsAfterAFailure) {
  Stall("/muster.log");
  Launched muster({"launch", "-n", "2", "--set", "log.file=@/muster.log", "--", "sh", "-c",
                   "test $RANK = 1 || exit 3; exec sleep 300"});
  EXPECT_EQ(muster.Wait(), 3) << muster.Err();
}

TEST_F(StalledFiles, OfTheReportAreExaminedBesideTheLoop) {
  Stall("report.json");
  Launched muster({"launch", "-n", "2", "--report", "@/report.json", "--", "sh", "-c", ": >@/ran.$RANK"});
  ASSERT_TRUE(muster.Says("stalled\n")) << muster.Err();
  EXPECT_TRUE(muster.Appear({"ran.0", "ran.1"})) << muster.Err();
}

}  // namespace
}  // namespace muster::cli
