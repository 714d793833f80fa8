#include "bootstrap/run/program_ender.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::run {
namespace {

rendezvous::ProcessState InState(char state, const std::string& where = "") {
  rendezvous::ProcessState process;
  process.state = state;
  process.where = where;
  return process;
}

TEST(DescribeHeld, NamesTheKernelOnlyIfItHoldsTheProcess) {
  EXPECT_EQ(DescribeHeld(InState('D', "nfs_wait_on_request"), true).reason,
            "the kernel holds it (state D, nfs_wait_on_request)");
  EXPECT_EQ(DescribeHeld(InState('Z'), true).reason, "the kernel holds it (state Z)");
  EXPECT_EQ(DescribeHeld(InState('t'), true).reason, "SIGKILL did not end it (state t)");
  EXPECT_EQ(DescribeHeld(std::nullopt, true).reason, "SIGKILL did not end it");
}

TEST(DescribeHeld, NamesTheUserOfAProcessThatMayNotBeSignalled) {
  EXPECT_EQ(DescribeHeld(InState('S'), false).reason,
            "the kernel refused the signal, because the process has another user (state S)");
}

// With a run.grace above 2 minutes the signal no longer explains failures when that time is over.
TEST(ProgramEnder, NamesTheRanksThatOutliveALongGrace) {
  using std::chrono::minutes;
  net::TestLoop loop;
  SupervisorPlan plan;
  plan.config.run.grace = minutes(3);
  report::RunRecorder recorder({});
  Programs programs(
      *loop, plan, recorder, [] {}, [](const EndedProgram&) {});
  RunFacts facts;
  facts.grace = plan.config.run.grace;
  RunVerdict verdict(facts);
  verdict.Formed(GroupOfOne("gpu01"), {0});
  verdict.BecomeRoot();
  ProgramEnder ender(*loop, plan, verdict, programs, recorder);
  verdict.request().Take({SIGTERM, 7, false, false}, Clock::now() - facts.grace - std::chrono::seconds(1));
  const LogCapture log;
  ender.Take(verdict.request().OnGraceOver(), nullptr);
  EXPECT_TRUE(log.Has("to exit; no exit within run.grace")) << log.Text();
  EXPECT_TRUE(log.Has("SIGTERM")) << log.Text();
}

}  // namespace
}  // namespace muster::run
