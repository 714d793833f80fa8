#include "bootstrap/run/verdict/run_end.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "tests/bootstrap/run/verdict/verdict_values.h"

namespace muster::run {
namespace {

// A launcher's SIGTERM requests a checkpoint, which one rank does not write: the others may.
TEST(RunEnd, HowTheRestEnds) {
  const auto how = [](const rendezvous::Failure& failure, std::optional<process::EndSignal> signal,
                      Duration after = seconds(1)) {
    process::EndRequest request(seconds(10));
    if (signal) request.Take(*signal, kStart);
    return HowRestEnds(failure, request, kStart + after);
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
TEST(RunEnd, TheSenderOfSigtermHasTwoMinutes) {
  const auto within = [](bool as_requested, int signal, Duration after) {
    process::EndRequest request(seconds(10));
    request.Take(Signal(signal), kStart);
    rendezvous::Failure failure = ExitOf(3, 128 + SIGTERM);
    failure.as_requested = as_requested;
    return SenderEndsWithin(failure, request, kStart + after);
  };
  EXPECT_EQ(within(true, SIGTERM, seconds(30)), seconds(90));
  EXPECT_EQ(within(true, SIGTERM, minutes(3)), Duration::zero());
  EXPECT_EQ(within(false, SIGTERM, seconds(30)), Duration::zero());
  EXPECT_EQ(within(true, SIGINT, seconds(30)), Duration::zero());
}

// The root waits for the reports of the leaders as well. If the time is up, programs have run.grace before SIGTERM.
TEST(RunEnd, HowLongTheOthersMayTakeToEnd) {
  rendezvous::Failure time_is_up = ExitOf(3, 80);
  time_is_up.as_requested = true;
  rendezvous::Failure requested = ExitOf(3, 128 + SIGTERM);
  requested.as_requested = true;
  struct Case {
    bool is_root;
    rendezvous::Failure failure;
    int seconds;
  };
  for (const Case& one : {Case{true, ExitOf(3), 10 + 10 + 4}, Case{false, ExitOf(3), 10 + 10 + 2},
                          Case{false, time_is_up, 20 + 10 + 2}, Case{false, requested, 120 + 10 + 10 + 2}}) {
    process::EndRequest request(seconds(10));
    if (one.failure == requested) request.Take(Signal(SIGTERM), kStart);
    EXPECT_EQ(OthersEndWithin(one.failure, request, seconds(10), one.is_root, kStart), seconds(one.seconds));
  }
}

TEST(RunEnd, HowLongReadersAreAwaited) {
  EXPECT_EQ(ReaderWithin(seconds(1)), seconds(5));
  EXPECT_EQ(ReaderWithin(seconds(60)), seconds(60));
  EXPECT_EQ(LastLinesWithin(seconds(60), {}, false), seconds(60));
  EXPECT_EQ(LastLinesWithin(seconds(60), seconds(20), false), seconds(20));
  EXPECT_EQ(LastLinesWithin(seconds(60), Duration::zero(), false), seconds(2));
  EXPECT_EQ(LastLinesWithin(seconds(60), seconds(20), true), milliseconds(100));
}

TEST(RunEnd, WhatFollowsTheLastProgram) {
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
    RunPlace place{GroupOf(2), {0}};
    place.group.root_rank = 2;  // the store's process is rank 0's
    EXPECT_EQ(AfterPrograms(facts, place), one.steps) << one.name;
  }
}

// The root stays until all have left, and the store with it.
TEST(RunEnd, AStoreOfTheRootNeedsNoExchange) {
  RunFacts facts = WithOthers();
  facts.muster_store = facts.keeps_store = true;
  EXPECT_EQ(AfterPrograms(facts, RunPlace{GroupOf(2), {0}}), RunSteps{RunStep::kLeave});
}

TEST(RunEnd, WhatFollowsAnExchange) {
  RunFacts expecting = WithOthers();
  expecting.expects_files = true;
  EXPECT_EQ(AfterExchange(WithOthers(), true, kAllDone), RunSteps{RunStep::kLeave});
  EXPECT_EQ(AfterExchange(WithOthers(), true, "init"), RunSteps{});
  EXPECT_EQ(AfterExchange(expecting, true, kAllDone), RunSteps{RunStep::kCheckFiles});
  EXPECT_EQ(AfterExchange(expecting, false, kAllDone), RunSteps{RunStep::kGatherFiles});
  EXPECT_EQ(AfterExchange(expecting, false, kFilesAreThere), RunSteps{RunStep::kLeave});
  EXPECT_EQ(VerdictOf(0, expecting).FilesFound(), RunSteps{RunStep::kGatherFiles});
}

TEST(RunEnd, MayStartAgainOnlyAfterAnExitStatusOfItsOwn) {
  EXPECT_FALSE(MayStartAgain({}));
  EXPECT_TRUE(MayStartAgain(ExitOf(3)));
  EXPECT_FALSE(MayStartAgain(LossOf(3)));
  rendezvous::Failure told = ExitOf(3, 130);
  told.as_requested = true;
  EXPECT_FALSE(MayStartAgain(told));
}

// Of a group: each wait, and the one that follows it.
TEST(RunEnd, WhatTheEndWaitsFor) {
  struct Case {
    const char* name;
    EndFacts noted;
    EndMoment now;
    EndStage stage;
  };
  const EndMoment good{.all_ended = true};
  const EndMoment failed{.all_ended = true, .failed = true};
  const EndMoment left_behind{.all_ended = true, .left_behind = true};
  const EndMoment written{.all_ended = true, .written = true};
  const EndMoment failed_and_written{.all_ended = true, .written = true, .failed = true};
  for (const Case& one : {
           Case{"a program runs", {.released = true}, {.written = true}, EndStage::kRuns},
           Case{"a program of a failed run", {.all_know = true}, {.failed = true}, EndStage::kRuns},
           Case{"not released", {}, written, EndStage::kRuns},
           Case{"its own failure is on its way",
                {.released = true},
                {.all_ended = true, .written = true, .reported = true},
                EndStage::kRuns},
           Case{"left behind", {.released = true}, left_behind, EndStage::kLeftBehind},
           Case{"long enough", {.released = true, .left_behind_over = true}, left_behind, EndStage::kOutput},
           Case{"a slow reader", {.released = true}, good, EndStage::kOutput},
           Case{"good", {.released = true}, written, EndStage::kOver},
           Case{"failed", {.released = true}, failed_and_written, EndStage::kAllKnow},
           Case{"all ranks have the failure", {.all_know = true}, failed_and_written, EndStage::kEnds},
           Case{"the root has the ends",
                {.all_know = true, .ends_received = true},
                failed,
                EndStage::kOutputAfterFailure},
           Case{"failed and over",
                {.all_know = true, .ends_received = true},
                failed_and_written,
                EndStage::kOver},
       }) {
    EXPECT_EQ(StageOf(WithOthers(), one.noted, one.now), one.stage) << one.name;
  }
  EXPECT_EQ(StageOf(RunFacts{}, {}, good), EndStage::kOutput) << "a world of one";
  EXPECT_EQ(StageOf(RunFacts{}, {.all_know = true}, failed_and_written), EndStage::kOver)
      << "no other has ends";
}

TEST(RunEnd, ARequestLimitsTheWaits) {
  EXPECT_EQ(StepsOf(EndStage::kOutput, false, true),
            (RunSteps{RunStep::kAwaitOutput, RunStep::kLimitOutput}));
  EXPECT_EQ(StepsOf(EndStage::kOutputAfterFailure, false, true), RunSteps{RunStep::kAwaitOutput});
  for (const EndStage stage : {EndStage::kOutput, EndStage::kOutputAfterFailure})
    EXPECT_EQ(StepsOf(stage, true, true), RunSteps{RunStep::kGiveUpOutput});
  EXPECT_EQ(StepsOf(EndStage::kEnds, true, false), (RunSteps{RunStep::kSendEnds, RunStep::kFinishSoon}));
}

}  // namespace
}  // namespace muster::run
