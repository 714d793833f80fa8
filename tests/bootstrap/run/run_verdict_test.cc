#include "bootstrap/run/run_verdict.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "tests/bootstrap/run/verdict_values.h"

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
        FailureOfProgram(verdict.place(), verdict.request(), *verdict.failed_program(), "the last line", now);
    EXPECT_EQ(failure.as_requested, one.told);
    EXPECT_EQ(failure.exit_status, 1);
    EXPECT_EQ(failure.stderr_tail, "the last line");
    EXPECT_EQ(failure.error.message, "rank 0 on n0 failed: exit 1");
    ASSERT_TRUE(verdict.Failed(failure));
    EXPECT_EQ(verdict.MayStartAgain(), !one.told);
    EXPECT_EQ(verdict.LogsSummary(now), !one.told);
    EXPECT_EQ(EndAsRequested(verdict.place(), verdict.request(), now).has_value(), one.told);
  }
}

// A signal to a whole step reaches the program and its supervisor in either order.
TEST(RunVerdict, ASignalThatReachedOnlyTheProgramIsAwaited) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, true, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_FALSE(FailureOfProgram(verdict.place(), verdict.request(), *verdict.failed_program(), "", kStart)
                   .as_requested);
  verdict.request().Take(Signal(SIGTERM), kStart + milliseconds(100));
  EXPECT_TRUE(FailureOfProgram(verdict.place(), verdict.request(), *verdict.failed_program(), "",
                               kStart + milliseconds(200))
                  .as_requested);
  RunVerdict killed = VerdictOf(2);
  EXPECT_EQ(killed.ProgramEnded({2, {0, SIGKILL}}, true, kStart), RunSteps{RunStep::kReport});
}

// A launcher's SIGTERM requests a checkpoint, which one rank does not write: the others may.
TEST(RunVerdict, HowTheRestEnds) {
  const auto how = [](const rendezvous::Failure& failure, std::optional<process::EndSignal> signal,
                      Duration after = seconds(1)) {
    RunVerdict verdict = VerdictOf(0);
    if (signal) verdict.request().Take(*signal, kStart);
    verdict.Failed(failure);
    return verdict.HowRestEnds(kStart + after);
  };
  rendezvous::Failure requested = ExitOf(3, 128 + SIGTERM);
  requested.as_requested = true;
  rendezvous::Failure time_is_up = ExitOf(3, 80);
  time_is_up.as_requested = true;
  EXPECT_EQ(how(ExitOf(3), {}), RestEnds::kNow);
  EXPECT_EQ(how(ExitOf(3), Signal(SIGTERM)), RestEnds::kNow);
  EXPECT_EQ(how(LossOf(3), Signal(SIGTERM)), RestEnds::kNow);
  EXPECT_EQ(how(time_is_up, Signal(SIGTERM)), RestEnds::kAfterGrace);
  EXPECT_EQ(how(requested, Signal(SIGTERM)), RestEnds::kBySender);
  EXPECT_EQ(how(requested, Signal(SIGTERM), minutes(1)), RestEnds::kBySender);
  EXPECT_EQ(how(requested, {}), RestEnds::kSoon);
  EXPECT_EQ(how(requested, Signal(SIGTERM), hours(1)), RestEnds::kSoon) << "another request";
  EXPECT_EQ(how(requested, Signal(SIGINT)), RestEnds::kNow);
  EXPECT_EQ(how(requested, Signal(SIGQUIT)), RestEnds::kNow);
  EXPECT_EQ(how(requested, process::EndSignal{SIGTERM, 1, false, /*escalates=*/true}), RestEnds::kNow);
}

// A `kill` of all supervisors, for example: nothing follows it.
TEST(RunVerdict, TheSenderOfSigtermHasTwoMinutes) {
  const auto within = [](bool as_requested, int signal, Duration after) {
    RunVerdict verdict = VerdictOf(0);
    verdict.request().Take(Signal(signal), kStart);
    rendezvous::Failure failure = ExitOf(3, 128 + SIGTERM);
    failure.as_requested = as_requested;
    verdict.Failed(failure);
    return verdict.SenderEndsWithin(kStart + after);
  };
  EXPECT_EQ(within(true, SIGTERM, seconds(30)), seconds(90));
  EXPECT_EQ(within(true, SIGTERM, minutes(3)), Duration::zero());
  EXPECT_EQ(within(false, SIGTERM, seconds(30)), Duration::zero());
  EXPECT_EQ(within(true, SIGINT, seconds(30)), Duration::zero());
}

// The root waits for the reports of the leaders as well. If the time is up, programs have run.grace before SIGTERM.
TEST(RunVerdict, HowLongTheOthersMayTakeToEnd) {
  rendezvous::Failure time_is_up = ExitOf(3, 80);
  time_is_up.as_requested = true;
  rendezvous::Failure requested = ExitOf(3, 128 + SIGTERM);
  requested.as_requested = true;
  struct Case {
    int own_rank;
    rendezvous::Failure failure;
    int seconds;
  };
  for (const Case& one : {Case{0, ExitOf(3), 10 + 10 + 4}, Case{2, ExitOf(3), 10 + 10 + 2},
                          Case{2, time_is_up, 20 + 10 + 2}, Case{2, requested, 120 + 10 + 10 + 2}}) {
    RunVerdict verdict = VerdictOf(one.own_rank);
    if (one.failure == requested) verdict.request().Take(Signal(SIGTERM), kStart);
    verdict.Failed(one.failure);
    EXPECT_EQ(verdict.OthersEndWithin(kStart), seconds(one.seconds));
  }
}

TEST(RunVerdict, HowLongReadersAreAwaited) {
  const auto with_grace = [](Duration grace) {
    RunFacts facts = WithOthers();
    facts.grace = grace;
    return VerdictOf(0, facts);
  };
  EXPECT_EQ(with_grace(seconds(1)).ReaderWithin(), seconds(5));
  EXPECT_EQ(with_grace(seconds(60)).ReaderWithin(), seconds(60));
  RunVerdict verdict = with_grace(seconds(60));
  EXPECT_EQ(verdict.LastLinesWithin({}), seconds(60));
  EXPECT_EQ(verdict.LastLinesWithin(seconds(20)), seconds(20));
  EXPECT_EQ(verdict.LastLinesWithin(Duration::zero()), seconds(2));
  verdict.EndWaits();
  EXPECT_EQ(verdict.LastLinesWithin(seconds(20)), milliseconds(100));
}

TEST(RunVerdict, OnlyTheFirstOwnFailureIsReported) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(2), {0, 1});
  EXPECT_EQ(verdict.ProgramEnded({1, kExit1}, false, kStart), RunSteps{RunStep::kReport});
  EXPECT_FALSE(verdict.may_report());
  EXPECT_EQ(verdict.ProgramEnded({0, {2, 0}}, true, kStart), RunSteps{});
  EXPECT_EQ(FailureOfProgram(verdict.place(), verdict.request(), *verdict.failed_program(), "", kStart).rank,
            1);
  // The root decides which failure of the group was first.
  EXPECT_TRUE(verdict.Failed(ExitOf(3, 7)));
  EXPECT_FALSE(verdict.Failed(ExitOf(1)));
  EXPECT_EQ(StatusOf(*verdict.failure()), 7);
}

// A leave message would let this process exit with 0.
TEST(RunVerdict, DoesNotLeaveAfterAFailureOfItsOwn) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(2), {0, 1});
  verdict.ProgramEnded({0, kExit1}, false, kStart);
  EXPECT_EQ(verdict.ProgramEnded({1, kOk}, true, kStart), RunSteps{});
  verdict.Released();
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
}

// While a map is at work.
TEST(RunVerdict, AnExcusedProgramCountsAsDone) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, true, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_FALSE(verdict.may_report());
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{RunStep::kLeave});
  EXPECT_TRUE(verdict.IsExcused(2));
  EXPECT_FALSE(verdict.IsExcused(3));
  EXPECT_TRUE(verdict.may_report());
  // Its connections close as well.
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{});
  verdict.Released();
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
  verdict.Lost(2);
  EXPECT_EQ(verdict.Excuse(2, false), RunSteps{});
  EXPECT_EQ(verdict.ProgramEnded({2, kExit1}, true, kStart), RunSteps{RunStep::kLeave});
}

TEST(RunVerdict, TwoProgramsThatFailTogetherAreExcusedOneByOne) {
  RunVerdict verdict = VerdictOf(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, false, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_EQ(verdict.ProgramEnded({3, kSigterm}, true, kStart), RunSteps{});
  EXPECT_EQ(verdict.Excuse(2, true), RunSteps{RunStep::kReport});
  EXPECT_EQ(verdict.failed_program()->rank, 3);
  EXPECT_EQ(verdict.Excuse(3, true), RunSteps{RunStep::kLeave});
}

TEST(RunVerdict, WhatFollowsTheLastProgram) {
  struct Case {
    const char* name;
    void (*change)(RunFacts&);
    RunSteps steps;
  };
  const auto one_program = [](RunFacts& facts) { facts.for_every_rank = false; };
  const auto expects = [](RunFacts& facts) { facts.expects_files = true; };
  const auto store = [](RunFacts& facts) { facts.muster_store = true; };
  const auto keeper = [](RunFacts& facts) { facts.muster_store = facts.keeps_store = true; };
  const auto report = [](RunFacts& facts) { facts.writes_report = true; };
  // A rank that left would be missing in the next attempt.
  const auto restart = [](RunFacts& facts) { facts.may_restart = true; };
  const auto restart_with_report = [](RunFacts& facts) { facts.may_restart = facts.writes_report = true; };
  const auto once_with_report = [](RunFacts& facts) {
    facts.for_every_rank = false;
    facts.writes_report = true;
  };
  const auto alone = [](RunFacts& facts) { facts.alone = true; };
  const auto alone_expects = [](RunFacts& facts) { facts.alone = facts.expects_files = true; };
  for (const Case& one : {
           Case{"plain", [](RunFacts&) {}, {RunStep::kLeave}},
           Case{"report", report, {RunStep::kSendExitReport, RunStep::kLeave}},
           Case{"restart", restart, {RunStep::kGatherAllDone}},
           Case{"restart with a report",
                restart_with_report,
                {RunStep::kSendExitReport, RunStep::kGatherAllDone}},
           Case{"once", one_program, {RunStep::kGatherAllDone}},
           Case{"once with a report", once_with_report, {RunStep::kGatherAllDone}},
           Case{"files", expects, {RunStep::kGatherAllDone}},
           Case{"store elsewhere", store, {RunStep::kGatherAllDone, RunStep::kLeave}},
           Case{"store here", keeper, {RunStep::kGatherAllDone}},
           Case{"alone", alone, {}},
           Case{"alone, files", alone_expects, {RunStep::kCheckFiles}},
       }) {
    RunFacts facts = WithOthers();
    one.change(facts);
    RunVerdict verdict(facts);
    rendezvous::FormedGroup group = GroupOf(2);
    group.root_rank = 2;  // the store's process is rank 0's
    verdict.Formed(group, {0});
    EXPECT_EQ(verdict.ProgramEnded({0, kOk}, true, kStart), one.steps) << one.name;
    EXPECT_EQ(verdict.ProgramEnded({0, kOk}, false, kStart), RunSteps{}) << one.name << ", one still runs";
  }
}

// The root stays until all have left, and the store with it.
TEST(RunVerdict, AStoreOfTheRootNeedsNoExchange) {
  RunFacts facts = WithOthers();
  facts.muster_store = facts.keeps_store = true;
  EXPECT_EQ(VerdictOf(0, facts).ProgramsDone(), RunSteps{RunStep::kLeave});
}

TEST(RunVerdict, WhatFollowsAnExchange) {
  RunFacts expecting = WithOthers();
  expecting.expects_files = true;
  EXPECT_EQ(VerdictOf(0).Gathered(kAllDone), RunSteps{RunStep::kLeave});
  EXPECT_EQ(VerdictOf(0).Gathered("init"), RunSteps{});
  EXPECT_EQ(VerdictOf(0, expecting).Gathered(kAllDone), RunSteps{RunStep::kCheckFiles});
  EXPECT_EQ(VerdictOf(1, expecting).Gathered(kAllDone), RunSteps{RunStep::kGatherFiles});
  EXPECT_EQ(VerdictOf(1, expecting).Gathered(kFilesAreThere), RunSteps{RunStep::kLeave});
  EXPECT_EQ(VerdictOf(0, expecting).FilesFound(), RunSteps{RunStep::kGatherFiles});
}

// They count as an exit status, a file system that does not answer does not.
TEST(RunVerdict, AfterMissingFilesTheGroupMayStartAgain) {
  RunVerdict missing = VerdictOf(0);
  missing.Failed(FailureOfFiles(Error{Code::kWorkFailed, "a.json does not exist", ""}));
  EXPECT_TRUE(missing.MayStartAgain());
  EXPECT_EQ(StatusOf(*missing.failure()), ExitStatus(Code::kWorkFailed));
  RunVerdict silent = VerdictOf(0);
  silent.Failed(FailureOfFiles(Error{Code::kDeadline, "no answer", ""}));
  EXPECT_FALSE(silent.MayStartAgain());
  EXPECT_EQ(StatusOf(*silent.failure()), ExitStatus(Code::kDeadline));
}

TEST(RunVerdict, AGoodRunIsOverWhenReleasedAndWritten) {
  RunVerdict verdict = VerdictOf(1);
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
  verdict.Released();
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
  good.OutputLost();
  good.Finish();
  EXPECT_EQ(good.status(), 71);
  RunVerdict failed(RunFacts{});
  failed.OutputLost();
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
  verdict.AllKnow();
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kSendEnds});
  verdict.EndsReported();
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
  EXPECT_FALSE(verdict.waits_end());
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGQUIT, kStart + seconds(2)), RunSteps{});
  EXPECT_FALSE(verdict.waits_end());
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart + seconds(2)), RunSteps{RunStep::kGiveUpOutput});
  EXPECT_TRUE(verdict.waits_end());
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
    verdict.AllKnow();
    EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
    EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart + milliseconds(900)),
              RunSteps{as_requested ? RunStep::kLimitOutput : RunStep::kGiveUpOutput});
    EXPECT_EQ(verdict.waits_end(), !as_requested);
  }
}

// Not yet all ranks have the failure; the waits that follow are then short.
TEST(RunVerdict, ASignalBeforeAllRanksHaveTheFailureShortensTheWaitsThatFollow) {
  RunVerdict verdict = VerdictOf(1);
  verdict.ProgramEnded({1, kOk}, true, kStart);
  verdict.Failed(ExitOf(0, 3));
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitAllKnow});
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGINT, kStart), RunSteps{});
  EXPECT_TRUE(verdict.waits_end());
  verdict.AllKnow();
  EXPECT_EQ(verdict.Next(true, false), (RunSteps{RunStep::kSendEnds, RunStep::kFinishSoon}));
  verdict.EndsReported();
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kGiveUpOutput});
}

TEST(RunVerdict, ASignalAfterTheStatusEndsTheWaits) {
  RunVerdict verdict(RunFacts{});
  verdict.Finish(3);
  EXPECT_FALSE(verdict.SignalledAtEnd(Signal(SIGCONT), kStart));
  EXPECT_FALSE(verdict.waits_end());
  EXPECT_TRUE(verdict.SignalledAtEnd(Signal(SIGTERM), kStart));
  EXPECT_TRUE(verdict.waits_end());
  EXPECT_EQ(verdict.request().Explains(kStart), SIGTERM);
}

TEST(RunVerdict, AFailureWhileOutputIsAwaitedGivesTheWaitItsLimit) {
  RunVerdict verdict(RunFacts{});
  verdict.ProgramEnded({0, kOk}, true, kStart);
  EXPECT_EQ(verdict.Next(true, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_EQ(verdict.Next(true, false), RunSteps{});
  verdict.Failed(ExitOf(0, 3));
  verdict.AllKnow();
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
  failed.AllKnow();
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
  verdict.AllKnow();
  EXPECT_EQ(verdict.Next(true, true), RunSteps{RunStep::kSendEnds});
  EXPECT_EQ(verdict.Next(true, true), RunSteps{});
  verdict.EndsReported();
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
  verdict.AllKnow();
  verdict.Next(true, true);
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGTERM, later), RunSteps{RunStep::kFinishSoon});
}

TEST(RunVerdict, MayStartAgainOnlyAfterAnExitStatusOfItsOwn) {
  const auto may = [](const rendezvous::Failure& failure) {
    RunVerdict verdict = VerdictOf(1);
    verdict.Failed(failure);
    return verdict.MayStartAgain();
  };
  EXPECT_FALSE(VerdictOf(1).MayStartAgain());
  EXPECT_TRUE(may(ExitOf(3)));
  EXPECT_FALSE(may(LossOf(3)));
  rendezvous::Failure told = ExitOf(3, 130);
  told.as_requested = true;
  EXPECT_FALSE(may(told));
}

}  // namespace
}  // namespace muster::run
