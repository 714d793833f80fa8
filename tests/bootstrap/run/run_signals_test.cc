#include "bootstrap/run/run_signals.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "tests/bootstrap/run/verdict/verdict_values.h"
#include "tests/comm/net/test_loop.h"

namespace muster::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunSignalsTest : public testing::Test {
 protected:
  explicit RunSignalsTest(const RunFacts& facts = RunFacts()) : verdict(facts) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    plan.lifeline = ends[0];
    lifeline[0] = UniqueFd(ends[0]);
    lifeline[1] = UniqueFd(ends[1]);
    plan.command = {"/bin/sleep", "1000"};
    plan.signals = {SIGUSR2};
    auto relay = process::SignalRelay::Start();
    EXPECT_TRUE(relay);
    signals = std::make_unique<RunSignals>(
        *loop, plan, verdict, programs, ender, *std::move(relay),
        RunSignals::Events{[this](int number) { interrupted.push_back(number); },
                           [this](const RunSteps& some) { steps.push_back(some); }});
    EXPECT_TRUE(signals->Watch());
  }
  void Take(int number) { signals->Take({number, 1, false}); }

  net::TestLoop loop;
  SupervisorPlan plan;
  RunVerdict verdict;
  report::RunRecorder recorder{{}};
  std::vector<EndedProgram> ended;
  Programs programs{*loop, plan, recorder, [] {},
                    [this](const EndedProgram& program) { ended.push_back(program); }};
  ProgramEnder ender{*loop, plan, verdict, programs, recorder};
  UniqueFd lifeline[2];
  std::vector<int> interrupted;
  std::vector<RunSteps> steps;
  std::unique_ptr<RunSignals> signals;
};

class RunSignalsOfAGroup : public RunSignalsTest {
 protected:
  RunSignalsOfAGroup() : RunSignalsTest(WithOthers()) {}
};

TEST_F(RunSignalsTest, WithoutAProgramARequestInterruptsAndTheRestHasNoEffect) {
  for (const int number : {SIGCONT, SIGWINCH, SIGTERM, SIGQUIT, SIGUSR1}) Take(number);
  EXPECT_THAT(interrupted, ElementsAre(SIGTERM, SIGQUIT));
  EXPECT_THAT(signals->kept(), ElementsAre(SIGUSR1, SIGUSR2));
  EXPECT_THAT(steps, IsEmpty());
}

TEST_F(RunSignalsTest, ProgramsThatAreAboutToStartReceiveWhatIsNoRequestToEnd) {
  signals->HoldForPrograms(true);
  for (const int number : {SIGCONT, SIGQUIT, SIGHUP}) Take(number);
  EXPECT_THAT(interrupted, ElementsAre(SIGHUP));
  EXPECT_THAT(signals->kept(), testing::UnorderedElementsAre(SIGUSR2, SIGCONT, SIGQUIT));
}

TEST_F(RunSignalsTest, PassesOnWhatItHasKept) {
  ASSERT_FALSE(programs.Start(GroupOfOne("gpu01"), {0}, ""));
  signals->PassOnKept();
  EXPECT_THAT(signals->kept(), IsEmpty());
  ASSERT_TRUE(loop.Until([&] { return !ended.empty(); })) << "SIGCHLD comes by the relay";
  EXPECT_EQ(ended.front().exit, (process::ChildExit{0, SIGUSR2}));
  Take(SIGUSR1);
  EXPECT_THAT(signals->kept(), ElementsAre(SIGUSR1)) << "for the program of a restart";
  EXPECT_THAT(steps, IsEmpty());
}

TEST_F(RunSignalsTest, ARunningProgramReceivesARequest) {
  ASSERT_FALSE(programs.Start(GroupOfOne("gpu01"), {0}, ""));
  kill(getpid(), SIGTERM);
  ASSERT_TRUE(loop.Until([&] { return !ended.empty(); }));
  EXPECT_EQ(ended.front().exit, (process::ChildExit{0, SIGTERM}));
  EXPECT_EQ(verdict.request().signal(), SIGTERM);
  EXPECT_THAT(interrupted, IsEmpty());
}

TEST_F(RunSignalsTest, TheEndOfTheLifelineIsOneRequest) {
  ASSERT_EQ(write(lifeline[1].get(), "ignored", 7), 7);
  loop.Settle();
  EXPECT_THAT(interrupted, IsEmpty());
  lifeline[1].Reset();
  loop.Settle();
  EXPECT_THAT(interrupted, ElementsAre(SIGTERM));
}

TEST_F(RunSignalsTest, AtTheEndARequestOnlyEndsTheWaits) {
  verdict.Finish(3);
  Take(SIGUSR1);
  EXPECT_FALSE(verdict.noted().waits_end);
  Take(SIGTERM);
  EXPECT_TRUE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.status(), 3);
  EXPECT_THAT(interrupted, IsEmpty());
  EXPECT_THAT(signals->kept(), ElementsAre(SIGUSR1, SIGUSR2));
}

TEST_F(RunSignalsOfAGroup, WithoutAProgramARequestIsTheFailureOfTheGroup) {
  Take(SIGTERM);
  EXPECT_THAT(interrupted, ElementsAre(SIGTERM)) << "it has not formed";
  verdict.Formed(GroupOf(2), {0});
  for (const int number : {SIGCONT, SIGQUIT, SIGTERM}) Take(number);
  EXPECT_THAT(interrupted, ElementsAre(SIGTERM));
  EXPECT_THAT(steps, ElementsAre(RunSteps{}, RunSteps{RunStep::kReportSignal}));
}

TEST_F(RunSignalsOfAGroup, TheEndOfAChildMayEndTheWaitForProcessesLeftBehind) {
  Take(SIGCHLD);
  EXPECT_THAT(steps, IsEmpty());
  verdict.noted().released = true;
  ASSERT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kAwaitLeftBehind});
  Take(SIGCHLD);
  EXPECT_THAT(steps, ElementsAre(RunSteps{}));
}

}  // namespace
}  // namespace muster::run
