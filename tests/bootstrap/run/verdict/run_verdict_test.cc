#include "bootstrap/run/verdict/run_verdict.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "tests/bootstrap/run/verdict/verdict_values.h"

namespace muster::run {
namespace {

// A program that survives a signal (SIGQUIT prints its threads) and fails later fails for a reason of its own.
TEST(RunVerdict, ASurvivedSignalDoesNotExplainALaterFailure) {
  struct Case {
    int signal;
    Duration after;
    bool told;
  };
  for (const Case& one :
       {Case{SIGQUIT, hours(1), false}, Case{SIGQUIT, seconds(11), false}, Case{SIGQUIT, seconds(9), true},
        Case{SIGINT, hours(1), false}, Case{SIGHUP, minutes(3), false}, Case{SIGTERM, minutes(3), false},
        Case{SIGTERM, minutes(1), true}}) {
    SCOPED_TRACE(fmt::format("signal {}, {} s", one.signal, one.after / seconds(1)));
    RunVerdict verdict = VerdictOf(0);
    verdict.request().Take(Signal(one.signal), kStart);
    const Clock::time_point now = kStart + one.after;
    EXPECT_EQ(verdict.ProgramEnded({0, kExit1}, true, now), RunSteps{RunStep::kReport});
    const rendezvous::Failure failure =
        FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "the last line", now);
    EXPECT_EQ(failure.as_requested, one.told);
    EXPECT_EQ(failure.exit_status, 1);
    EXPECT_EQ(failure.stderr_tail, "the last line");
    EXPECT_EQ(failure.error.message, "rank 0 on n0 failed: exit 1");
    ASSERT_TRUE(verdict.Failed(failure));
    EXPECT_EQ(MayStartAgain(verdict.failure()), !one.told);
    EXPECT_EQ(LogsSummary(verdict.facts(), verdict.failure(), verdict.request(), now), !one.told);
    EXPECT_EQ(EndAsRequested(verdict.place(), verdict.request(), now).has_value(), one.told);
  }
}

// A signal to a whole step reaches the program and its supervisor in either order.
TEST(RunVerdict, ASignalThatReachedOnlyTheProgramIsAwaited) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, true, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_FALSE(
      FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "", kStart).as_requested);
  verdict.request().Take(Signal(SIGTERM), kStart + milliseconds(100));
  EXPECT_TRUE(FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "",
                               kStart + milliseconds(200))
                  .as_requested);
  RunVerdict killed = VerdictOf(2);
  EXPECT_EQ(killed.ProgramEnded({2, {0, SIGKILL}}, true, kStart), RunSteps{RunStep::kReport});
}

TEST(RunVerdict, OnlyTheFirstOwnFailureIsReported) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(2), {0, 1});
  EXPECT_EQ(verdict.ProgramEnded({1, kExit1}, false, kStart), RunSteps{RunStep::kReport});
  EXPECT_FALSE(verdict.may_report());
  EXPECT_EQ(verdict.ProgramEnded({0, {2, 0}}, true, kStart), RunSteps{});
  EXPECT_EQ(FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "", kStart).rank, 1);
  // The root decides which failure of the group was first.
  EXPECT_TRUE(verdict.Failed(ExitOf(3, 7)));
  EXPECT_FALSE(verdict.Failed(ExitOf(1)));
  EXPECT_EQ(StatusOf(*verdict.failure()), 7);
}

TEST(RunVerdict, DoesNotLeaveWhileAProgramRuns) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(2), {0, 1});
  EXPECT_EQ(verdict.ProgramEnded({0, kOk}, false, kStart), RunSteps{});
  EXPECT_EQ(verdict.ProgramEnded({1, kOk}, true, kStart), RunSteps{RunStep::kLeave});
}

// A leave message would let this process exit with 0.
TEST(RunVerdict, DoesNotLeaveAfterAFailureOfItsOwn) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(2), {0, 1});
  verdict.ProgramEnded({0, kExit1}, false, kStart);
  EXPECT_EQ(verdict.ProgramEnded({1, kOk}, true, kStart), RunSteps{});
  verdict.noted().released = true;
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
}

// While a map is at work.
TEST(RunVerdict, AnExcusedProgramCountsAsDone) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, true, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_FALSE(verdict.may_report());
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{RunStep::kLeave});
  EXPECT_TRUE(verdict.own().IsExcused(2));
  EXPECT_FALSE(verdict.own().IsExcused(3));
  EXPECT_TRUE(verdict.may_report());
  // Its connections close as well.
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{});
  verdict.noted().released = true;
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kFinish});
  verdict.Finish();
  EXPECT_EQ(verdict.status(), 0);
}

TEST(RunVerdict, AnExcusedProgramWaitsForTheOthersOfItsProcess) {
  RunVerdict verdict = VerdictOf(2);
  verdict.ProgramEnded({2, kExit1}, false, kStart);
  EXPECT_EQ(verdict.Excuse(2, false), RunSteps{});
  EXPECT_EQ(verdict.ProgramEnded({3, kOk}, true, kStart), RunSteps{RunStep::kLeave});
}

// It ends long after its connections.
TEST(RunVerdict, AnExcusedProgramMayEndLater) {
  RunVerdict verdict = VerdictOf(2);
  verdict.own().Lost(2);
  EXPECT_EQ(verdict.Excuse(2, false), RunSteps{});
  EXPECT_EQ(verdict.ProgramEnded({2, kExit1}, true, kStart), RunSteps{RunStep::kLeave});
}

TEST(RunVerdict, TwoProgramsThatFailTogetherAreExcusedOneByOne) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, false, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_EQ(verdict.ProgramEnded({3, kSigterm}, true, kStart), RunSteps{});
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{RunStep::kReport});
  EXPECT_EQ(verdict.own().first()->rank, 3);
  EXPECT_EQ(verdict.Excuse(3, true), RunSteps{RunStep::kLeave});
}

// They count as an exit status, a file system that does not answer does not.
TEST(RunVerdict, AfterMissingFilesTheGroupMayStartAgain) {
  RunVerdict missing = VerdictOf(0);
  missing.Failed(FailureOfFiles(Error{Code::kWorkFailed, "a.json does not exist", ""}));
  EXPECT_TRUE(MayStartAgain(missing.failure()));
  EXPECT_EQ(StatusOf(*missing.failure()), ExitStatus(Code::kWorkFailed));
  RunVerdict silent = VerdictOf(0);
  silent.Failed(FailureOfFiles(Error{Code::kDeadline, "no answer", ""}));
  EXPECT_FALSE(MayStartAgain(silent.failure()));
  EXPECT_EQ(StatusOf(*silent.failure()), ExitStatus(Code::kDeadline));
}

TEST(RunVerdict, AGoodRunIsOverWhenReleasedAndWritten) {
  RunVerdict verdict = VerdictOf(1);
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
  verdict.noted().released = true;
  EXPECT_EQ(verdict.Next(false, true), RunSteps{});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kFinish});
  verdict.Finish();
  EXPECT_EQ(verdict.status(), 0);
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
}

TEST(RunVerdict, LostOutputFailsAGoodRunOnly) {
  RunVerdict good(RunFacts{});
  good.noted().output_lost = true;
  good.Finish();
  EXPECT_EQ(good.status(), 71);
  RunVerdict failed(RunFacts{});
  failed.noted().output_lost = true;
  failed.Failed(ExitOf(0, 3));
  failed.Finish();
  EXPECT_EQ(failed.status(), 3);
}

// All others have the failure when the readers of the output are waited for.
TEST(RunVerdict, OutputOfAFailedRunIsAwaitedLast) {
  RunVerdict verdict = VerdictOf(1);
  verdict.ProgramEnded({1, kExit1}, true, kStart);
  verdict.Failed(ExitOf(1));
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitAllKnow});
  verdict.noted().all_know = true;
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kSendEnds});
  verdict.noted().ends_received = true;
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kFinish});
}

// A signal ends the wait, but only after run.grace if it may be the very signal that the programs received.
TEST(RunVerdict, ASignalGivesUpOutputThatIsAwaited) {
  RunVerdict verdict(RunFacts{});
  verdict.ProgramEnded({0, kOk}, true, kStart);
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart + milliseconds(900)),
            RunSteps{RunStep::kLimitOutput});
  EXPECT_FALSE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGQUIT, kStart + seconds(2)), RunSteps{});
  EXPECT_FALSE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart + seconds(2)), RunSteps{RunStep::kGiveUpOutput});
  EXPECT_TRUE(verdict.noted().waits_end);
}

TEST(RunVerdict, TheRequestThatEndedTheProgramsLimitsTheWaitForReaders) {
  for (const int number : {SIGTERM, SIGQUIT}) {
    RunVerdict verdict(RunFacts{});
    verdict.request().Take(Signal(number), kStart - seconds(1));
    verdict.ProgramEnded({0, kOk}, true, kStart);
    const bool ended = number == SIGTERM;
    EXPECT_EQ(verdict.Next(true, false), ended ? (RunSteps{RunStep::kAwaitOutput, RunStep::kLimitOutput})
                                               : RunSteps{RunStep::kAwaitOutput});
    EXPECT_EQ(verdict.Next(true, false), RunSteps{});
  }
}

// No request ended the program that failed by itself.
TEST(RunVerdict, ASignalSoonAfterAFailureGivesUpOutputThatIsAwaited) {
  for (const bool as_requested : {false, true}) {
    RunVerdict verdict(RunFacts{});
    verdict.ProgramEnded({0, {3, 0}}, true, kStart);
    rendezvous::Failure failure = ExitOf(0, 3);
    failure.as_requested = as_requested;
    verdict.Failed(failure);
    verdict.noted().all_know = true;
    EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
    EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart + milliseconds(900)),
              RunSteps{as_requested ? RunStep::kLimitOutput : RunStep::kGiveUpOutput});
    EXPECT_EQ(verdict.noted().waits_end, !as_requested);
  }
}

// Not yet all ranks have the failure; the waits that follow are then short.
TEST(RunVerdict, ASignalBeforeAllRanksHaveTheFailureShortensTheWaitsThatFollow) {
  RunVerdict verdict = VerdictOf(1);
  verdict.ProgramEnded({1, kOk}, true, kStart);
  verdict.Failed(ExitOf(0, 3));
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitAllKnow});
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart), RunSteps{});
  EXPECT_TRUE(verdict.noted().waits_end);
  verdict.noted().all_know = true;
  EXPECT_EQ(verdict.Next(true, false), (RunSteps{RunStep::kSendEnds, RunStep::kFinishSoon}));
  verdict.noted().ends_received = true;
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kGiveUpOutput});
}

TEST(RunVerdict, ASignalAfterTheStatusEndsTheWaits) {
  RunVerdict verdict(RunFacts{});
  verdict.Finish(3);
  EXPECT_FALSE(verdict.SignalledAtEnd(Signal(SIGCONT), kStart));
  EXPECT_FALSE(verdict.noted().waits_end);
  EXPECT_TRUE(verdict.SignalledAtEnd(Signal(SIGTERM), kStart));
  EXPECT_TRUE(verdict.noted().waits_end);
  EXPECT_EQ(verdict.request().Explains(kStart), SIGTERM);
}

TEST(RunVerdict, AFailureWhileOutputIsAwaitedGivesTheWaitItsLimit) {
  RunVerdict verdict(RunFacts{});
  verdict.ProgramEnded({0, kOk}, true, kStart);
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{});
  verdict.Failed(ExitOf(0, 3));
  verdict.noted().all_know = true;
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{});
}

TEST(RunVerdict, AWorldOfOneIsOverWithItsProgram) {
  RunFacts facts;
  EXPECT_EQ(RunVerdict(facts).Next(true, true), RunSteps{RunStep::kFinish});
  facts.expects_files = true;
  RunVerdict expecting(facts);
  EXPECT_EQ(expecting.Next(true, true), RunSteps{});
  EXPECT_EQ(expecting.FilesFound(), RunSteps{});
  EXPECT_EQ(expecting.Next(true, true), RunSteps{RunStep::kFinish});
  RunVerdict failed(facts);
  failed.Failed(ExitOf(0, 3));
  failed.noted().all_know = true;
  EXPECT_EQ(failed.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(failed.Next(true, true), RunSteps{RunStep::kFinish});
  failed.Finish();
  EXPECT_EQ(failed.status(), 3);
}

// Each step is due once, and none before the programs have ended.
TEST(RunVerdict, AFailedRunEndsWhenAllKnowAndTheRootHasTheEnds) {
  RunVerdict verdict = VerdictOf(1);
  verdict.Failed(ExitOf(3, 5));
  EXPECT_EQ(verdict.Next(false, true), RunSteps{});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kAwaitAllKnow});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
  verdict.noted().all_know = true;
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kSendEnds});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
  verdict.noted().ends_received = true;
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kFinish});
  verdict.Finish();
  verdict.Finish(0);
  EXPECT_EQ(verdict.status(), 5);
}

TEST(RunVerdict, ASignalAfterTheProgramsHaveEnded) {
  RunVerdict verdict = VerdictOf(1);
  verdict.ProgramEnded({1, kOk}, true, kStart);
  // The program has received the same signal, and ended with 0.
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGTERM, kStart + milliseconds(900)), RunSteps{});
  const Clock::time_point later = kStart + seconds(2);
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGQUIT, later), RunSteps{});
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGTERM, later), RunSteps{RunStep::kReportSignal});
  verdict.request().Take(Signal(SIGTERM), later);
  const rendezvous::Failure failure = FailureOfSignal(verdict.place(), verdict.request(), later);
  EXPECT_EQ(failure.error.message, "terminated: rank 1 on n0 received SIGTERM");
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.exit_status, 128 + SIGTERM);
  EXPECT_TRUE(failure.as_requested);
  // Only the report of how the programs ended is on its way.
  verdict.Failed(failure);
  verdict.noted().all_know = true;
  verdict.Next(true, true);
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGTERM, later), RunSteps{RunStep::kFinishSoon});
}

}  // namespace
}  // namespace muster::run
