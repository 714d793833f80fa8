#include "bootstrap/run/own_failure_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/bootstrap/run/verdict/verdict_values.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The supervisor of rank 0, on node a, and a rank that receives its failures.
class OwnFailureReporterTest : public testing::Test {
 protected:
  OwnFailureReporterTest() : group(loop, std::vector<std::string>{"a", "b"}) {
    plan.who = WhoRuns::kFirstRank;
    EXPECT_TRUE(group.AllFormed());
    verdict.Formed(group[0].plane().group(), {0});
    verdict.BecomeRoot();
    reporter.Connect(group[0].plane());
  }
  void Start(const std::string& program) {
    plan.command = {"/bin/sh", "-c", program};
    ASSERT_FALSE(programs.Start(verdict.place().group, {0}, ""));
  }
  void AwaitExit() const {
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(programs.Find(0)->pid()), &info, WEXITED | WNOWAIT), 0);
  }
  rendezvous::Failure Received() {
    EXPECT_TRUE(loop.Until([this] { return !group[1].failures.empty(); }));
    return group[1].failures.empty() ? rendezvous::Failure() : group[1].failures.front();
  }

  net::TestLoop loop;
  rendezvous::TestGroup group;
  SupervisorPlan plan;
  RunVerdict verdict{WithOthers()};
  report::RunRecorder recorder{{}};
  std::vector<RunSteps> next;  // of each program that has ended
  Programs programs{*loop, plan, recorder, [] {},
                    [this](const EndedProgram& program) {
                      next.push_back(verdict.ProgramEnded(program, programs.all_ended(), Clock::now()));
                    }};
  std::vector<rendezvous::Failure> alone;
  std::vector<RunSteps> steps;
  OwnFailureReporter::Events events{[this](const rendezvous::Failure& failure) { alone.push_back(failure); },
                                    [this](const RunSteps& some) { steps.push_back(some); }};
  OwnFailureReporter reporter{*loop, verdict, programs, events};
};

TEST_F(OwnFailureReporterTest, WithoutAGroupItIsTheFailureOfTheRun) {
  OwnFailureReporter of_one(*loop, verdict, programs, events);
  of_one.Report(ExitOf(0, 3));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone.front().exit_status, 3);
  EXPECT_TRUE(verdict.noted().all_know);
  EXPECT_FALSE(verdict.may_report());
}

TEST_F(OwnFailureReporterTest, AGroupReceivesTheFailure) {
  reporter.Report(ExitOf(0, 3));
  EXPECT_EQ(Received().exit_status, 3);
  EXPECT_FALSE(verdict.may_report());
  EXPECT_FALSE(verdict.noted().all_know) << "the group reports that";
  EXPECT_THAT(alone, IsEmpty());
}

TEST_F(OwnFailureReporterTest, ALostProgramHasAMomentToExit) {
  Start("exit 3");
  reporter.Lose(0, programs.Find(0)->pid());
  AwaitExit();
  programs.NoticeExits();
  ASSERT_THAT(next, ElementsAre(RunSteps{RunStep::kReport}));
  reporter.ReportProgram();
  EXPECT_EQ(Received().error.message, "rank 0 on a failed: exit 3");
}

TEST_F(OwnFailureReporterTest, ALostProgramThatRunsOnHasFailed) {
  Start("exec sleep 1000");
  reporter.Lose(0, getpid());
  EXPECT_EQ(
      Received().error.message,
      "process " + std::to_string(getpid()) +
          ", which the program of rank 0 on a had started, closed its connections without leaving its group");
}

// Its supervisor waits: perhaps the signal comes to it as well.
TEST_F(OwnFailureReporterTest, TheProgramThatASignalEndedIsFirst) {
  Start("kill $$");
  AwaitExit();
  programs.NoticeExits();
  ASSERT_THAT(next, ElementsAre(RunSteps{RunStep::kReportSoon}));
  reporter.ReportProgramSoon();
  group[1].plane().failures().Fail(ExitOf(1, 1));
  EXPECT_EQ(Received().rank, 0);
  EXPECT_EQ(Received().exit_status, 128 + SIGTERM);
}

// Its end is noticed after that of the map.
TEST_F(OwnFailureReporterTest, AProgramThatExitedBeforeTheMapsEndedIsExcused) {
  Start("exit 3");
  AwaitExit();
  reporter.EndMaps();
  reporter.Report(ExitOf(0, 3));
  EXPECT_TRUE(verdict.own().IsExcused(0));
  EXPECT_TRUE(verdict.may_report());
  EXPECT_THAT(steps, ElementsAre(RunSteps{}));
  programs.NoticeExits();
  EXPECT_THAT(next, ElementsAre(RunSteps{RunStep::kLeave})) << "it has ended well";
}

TEST_F(OwnFailureReporterTest, AProgramThatRunsWhenTheMapsEndIsNotExcused) {
  Start("exec sleep 1000");
  reporter.EndMaps();
  reporter.Report(ExitOf(0, 3));
  EXPECT_FALSE(verdict.own().IsExcused(0));
  EXPECT_THAT(steps, IsEmpty());
}

}  // namespace
}  // namespace muster::run
