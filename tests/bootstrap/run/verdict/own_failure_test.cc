#include "bootstrap/run/verdict/own_failure.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/bootstrap/run/verdict/verdict_values.h"

namespace muster::run {
namespace {

TEST(OwnFailure, AProgramThatASignalEndedIsReportedWithThatSignal) {
  RunVerdict verdict = VerdictOf(2);
  verdict.request().Take(Signal(SIGTERM), kStart);
  EXPECT_EQ(verdict.ProgramEnded({2, kSigterm}, true, kStart), RunSteps{RunStep::kReport});
  const rendezvous::Failure failure =
      FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "", kStart);
  EXPECT_EQ(failure.error.message, "terminated: rank 2 on n1 received SIGTERM");
  EXPECT_EQ(failure.exit_status, 128 + SIGTERM);
  EXPECT_TRUE(failure.as_requested);
}

TEST(OwnFailure, AProgramThatDropsOutOfItsGroupFails) {
  RunVerdict verdict = VerdictOf(1);
  verdict.own().Lost(1);
  EXPECT_EQ(FailureOfLost(verdict.place(), verdict.request(), 1, false, kStart).error.message,
            "the program of rank 1 on n0 closed its connections without leaving its group");
  EXPECT_EQ(verdict.ProgramEnded({1, kOk}, true, kStart), RunSteps{RunStep::kReport});
  const rendezvous::Failure failure =
      FailureOfProgram(verdict.place(), verdict.request(), *verdict.own().first(), "", kStart);
  EXPECT_EQ(failure.error.message, "rank 1 on n0 exited with 0 without leaving its group");
  EXPECT_EQ(failure.exit_status, -1);
  verdict.Failed(failure);
  EXPECT_FALSE(MayStartAgain(verdict.failure()));
}

// The rank's program is a shell, which goes on.
TEST(OwnFailure, AHelperThatDropsOutIsNotTheProgram) {
  RunVerdict verdict = VerdictOf(1);
  verdict.own().Lost(1);
  const auto message = [&](bool ended) {
    return FailureOfLost(verdict.place(), verdict.request(), 1, false, kStart, HelperProcess{4711, ended})
        .error.message;
  };
  EXPECT_EQ(message(true),
            "process 4711, which the program of rank 1 on n0 had started, ended without leaving its group");
  EXPECT_EQ(message(false),
            "process 4711, which the program of rank 1 on n0 had started, closed its connections without "
            "leaving its group");
}

// sys.exit(0) in a handler of SIGTERM, while other ranks write a checkpoint.
TEST(OwnFailure, AProgramThatDropsOutBecauseOfASignalIsNoFailureOfItsOwn) {
  for (const bool exited : {true, false}) {
    RunVerdict verdict = VerdictOf(2);
    verdict.request().Take(Signal(SIGTERM), kStart);
    const auto now = kStart + seconds(1);
    const rendezvous::Failure failure = FailureOfLost(verdict.place(), verdict.request(), 2, exited, now);
    EXPECT_EQ(failure.error.message, "terminated: rank 2 on n1 received SIGTERM");
    EXPECT_EQ(failure.exit_status, 128 + SIGTERM);
    EXPECT_TRUE(failure.as_requested);
    ASSERT_TRUE(verdict.Failed(failure));
    EXPECT_EQ(HowRestEnds(failure, verdict.request(), now), RestEnds::kBySender);
    EXPECT_FALSE(
        FailureOfLost(verdict.place(), verdict.request(), 2, exited, kStart + minutes(3)).as_requested);
  }
}

TEST(OwnFailure, NamesNoRankIfThisProcessStartsAll) {
  RunVerdict verdict(WithOthers());
  verdict.Formed(GroupOf(1), {0, 1});
  verdict.request().Take(Signal(SIGINT), kStart);
  EXPECT_EQ(FailureOfSignal(verdict.place(), verdict.request(), kStart).error.message,
            "interrupted (SIGINT)");
}

}  // namespace
}  // namespace muster::run
