// The end of a run whose programs leave processes behind.
#include <gtest/gtest.h>

#include <csignal>

#include "bootstrap/run/verdict/run_verdict.h"

namespace muster::run {
namespace {

const Clock::time_point kStart = Clock::time_point() + std::chrono::hours(1);

// One that waits for other supervisors.
RunVerdict OfAGoodRun() {
  RunFacts facts;
  facts.alone = false;
  RunVerdict verdict(facts);
  verdict.ProgramEnded({1, {}}, true, kStart);
  return verdict;
}

TEST(LeftBehind, ProcessesAreAwaitedWhenAGoodRunIsOver) {
  RunVerdict verdict = OfAGoodRun();
  EXPECT_FALSE(verdict.MayAwaitLeftBehind());
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{});
  verdict.noted().released = true;
  EXPECT_TRUE(verdict.MayAwaitLeftBehind());
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kAwaitLeftBehind});
  EXPECT_EQ(verdict.Next(true, false, true), RunSteps{});
  EXPECT_TRUE(verdict.awaits_left_behind());
  EXPECT_EQ(verdict.Next(true, false, false), RunSteps{RunStep::kAwaitOutput});
  EXPECT_FALSE(verdict.awaits_left_behind());
  EXPECT_EQ(verdict.Next(true, true, false), RunSteps{RunStep::kFinish});
}

TEST(LeftBehind, ProcessesThatDoNotEndAreNotAwaitedAnyLonger) {
  RunVerdict verdict = OfAGoodRun();
  verdict.noted().released = true;
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kAwaitLeftBehind});
  verdict.noted().left_behind_over = true;
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kFinish});
}

// The group has released this process: its failure would reach no other.
TEST(LeftBehind, ASignalEndsTheWait) {
  RunVerdict verdict = OfAGoodRun();
  verdict.noted().released = true;
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kAwaitLeftBehind});
  EXPECT_EQ(verdict.SignalledAfterPrograms(SIGTERM, kStart + std::chrono::hours(1)), RunSteps{});
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kFinish});
}

TEST(LeftBehind, ProcessesOfAFailedRunAreNotAwaited) {
  RunVerdict verdict(RunFacts{});
  verdict.ProgramEnded({0, {1, 0}}, true, kStart);
  verdict.Failed({{Code::kPeerLost, "rank failed", ""}, 0, 1, ""});
  verdict.noted().all_know = true;
  EXPECT_FALSE(verdict.MayAwaitLeftBehind());
  EXPECT_EQ(verdict.Next(true, true, true), RunSteps{RunStep::kFinish});
}

}  // namespace
}  // namespace muster::run
