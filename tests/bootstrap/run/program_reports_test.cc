#include "bootstrap/run/program_reports.h"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

using rendezvous::RankReport;
using rendezvous::RankState;

TEST(Merge, TakesTheReportOfAProgramInTheGroup) {
  RankReport ours;
  ours.state = RankState::kProgram;
  RankReport program;
  program.state = RankState::kInGroup;
  program.process.pid = 7;
  Merge(ours, program);
  EXPECT_EQ(ours.state, RankState::kInGroup);
  EXPECT_EQ(ours.process.pid, 7);
}

TEST(Merge, LeavesASilentProgramToItsSupervisor) {
  RankReport ours;
  ours.state = RankState::kProgram;
  ours.process.pid = 7;
  Merge(ours, RankReport());
  EXPECT_EQ(ours.state, RankState::kProgram);
  EXPECT_EQ(ours.process.pid, 7);
}

// The command has exited with 0, and a process that it started is in the group, and stopped.
TEST(Merge, AProgramWithAProcessInTheGroupHasNotEnded) {
  RankReport ours;
  ours.state = RankState::kEnded;
  ours.exit_status = 0;
  RankReport program;
  program.state = RankState::kSilent;
  program.process.pid = 7;
  program.process.state = 'T';
  Merge(ours, program);
  EXPECT_EQ(ours.state, RankState::kSilent);
  EXPECT_EQ(ours.process.state, 'T');
}

// Ranks wait in the group that it has left.
TEST(Merge, AProgramThatFormsTheNextGroupHasLeftTheOneBefore) {
  RankReport ours;
  ours.state = RankState::kLeft;
  RankReport program;
  program.state = RankState::kInGroup;
  Merge(ours, program);
  EXPECT_EQ(ours.state, RankState::kLeft);
}

}  // namespace
}  // namespace muster::run
