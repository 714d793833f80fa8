#include "bootstrap/run/last_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "tests/bootstrap/run/verdict/verdict_values.h"
#include "tests/comm/base/folder.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::run {
namespace {

// Standard error is a pipe that is full.
class StoppedReader {
 public:
  StoppedReader() : saved_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_ = UniqueFd(ends[0]);
    const UniqueFd write_end(ends[1]);
    while (write(ends[1], "x", 1) == 1) continue;
    dup2(ends[1], STDERR_FILENO);
  }
  StoppedReader(const StoppedReader&) = delete;
  StoppedReader& operator=(const StoppedReader&) = delete;
  ~StoppedReader() { dup2(saved_.get(), STDERR_FILENO); }
  void GoOn() const {
    std::array<char, 4096> some{};
    while (read(read_.get(), some.data(), some.size()) > 0) continue;
  }

 private:
  UniqueFd read_;
  const UniqueFd saved_;
};

class LastOutputTest : public testing::Test {
 protected:
  LastOutputTest() {
    plan.command = {"/bin/sh", "-c", "echo the reason >&2; exit 3"};
    verdict.Formed(GroupOfOne("gpu01"), {0});
    verdict.BecomeRoot();
  }
  void RunProgram() {
    ASSERT_FALSE(programs.Start(verdict.place().group, {0}, ""));
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(programs.Find(0)->pid()), &info, WEXITED | WNOWAIT), 0);
    programs.NoticeExits();
    ASSERT_FALSE(programs.written());
  }
  testing::AssertionResult LogOfLosses(const std::string& reason) const {
    const LogCapture log(LogLevel::kDebug);
    programs.losses().Report();
    return testing::AssertionResult(log.Has("lost: " + reason)) << log.Text();
  }

  StoppedReader reader;
  net::TestLoop loop;
  SupervisorPlan plan;
  RunVerdict verdict{RunFacts()};
  RunReporter reporter{plan, verdict};
  int idle = 0;
  Programs programs{*loop, plan, reporter.recorder(), [this] { ++idle; }, [](const EndedProgram&) {}};
  LastOutput output{*loop, verdict, reporter, programs};
};

TEST_F(LastOutputTest, TheLineAboutTheFailureFollowsTheOutputOfPrograms) {
  RunProgram();
  verdict.Failed(ExitOf(0, 3));
  const LogCapture log;
  output.NoteFailure(false, {});
  output.OnIdle();
  EXPECT_EQ(log.Text(), "");
  reader.GoOn();
  ASSERT_TRUE(loop.Until([&] { return idle > 0; }));
  output.OnIdle();
  const std::string line = log.Text();
  EXPECT_NE(line.find("rank failed"), std::string::npos) << line;
  output.LogFailure();
  EXPECT_EQ(log.Text(), line) << "once";
}

TEST_F(LastOutputTest, AReaderThatHasStoppedDelaysTheLineForAMoment) {
  RunProgram();
  verdict.Failed(ExitOf(0, 3));
  const LogCapture log;
  output.NoteFailure(false, {});
  ASSERT_TRUE(loop.Until([&] { return log.Has("rank failed"); }));
  EXPECT_FALSE(programs.written());
}

TEST_F(LastOutputTest, AfterAFailureAReaderHasALimit) {
  const Folder folder;
  setenv("CLOCK_AHEAD", folder.File("clock").c_str(), 1);
  RunProgram();
  verdict.Failed(ExitOf(0, 3));
  output.Await();
  loop.Settle();
  EXPECT_FALSE(programs.written());
  folder.Write("clock", std::string(5, ' '));
  ASSERT_TRUE(loop.Until([&] { return idle > 0; }));
  unsetenv("CLOCK_AHEAD");
  EXPECT_TRUE(programs.written());
  EXPECT_TRUE(LogOfLosses("its reader did not take them within 5s"));
  EXPECT_EQ(verdict.status(), std::nullopt) << "the next step decides";
}

TEST_F(LastOutputTest, WithoutAFailureAReaderHasNone) {
  const Folder folder;
  setenv("CLOCK_AHEAD", folder.File("clock").c_str(), 1);
  RunProgram();
  output.Await();
  folder.Write("clock", std::string(5, ' '));
  loop.Settle();
  unsetenv("CLOCK_AHEAD");
  EXPECT_FALSE(programs.written());
}

TEST_F(LastOutputTest, ASignalGivesOutputUp) {
  RunProgram();
  output.GiveUp(SIGTERM);
  EXPECT_TRUE(programs.written());
  EXPECT_TRUE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.status(), 128 + SIGTERM);
  EXPECT_TRUE(LogOfLosses("its reader had not taken them before SIGTERM"));
}

TEST_F(LastOutputTest, ASignalDoesNotChangeTheStatusOfAFailure) {
  RunProgram();
  verdict.Failed(ExitOf(0, 3));
  output.GiveUp(SIGTERM);
  EXPECT_EQ(verdict.status(), 3);
}

// Else the wait for the reader of standard error is five seconds.
TEST_F(LastOutputTest, ASignalEndsTheWaitForTheLastLines) {
  ProgramEnder ender(*loop, plan, verdict, programs, reporter.recorder());
  auto relay = process::SignalRelay::Start();
  ASSERT_TRUE(relay);
  RunSignals signals(*loop, plan, verdict, programs, ender, *std::move(relay), {});
  SetUpLog({});
  LogError("a line that stays");
  verdict.Finish(3);
  kill(getpid(), SIGTERM);
  output.WriteLines(signals);
  EXPECT_TRUE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.request().signal(), SIGTERM);
  EXPECT_EQ(verdict.status(), 3);
  reader.GoOn();
}

}  // namespace
}  // namespace muster::run
