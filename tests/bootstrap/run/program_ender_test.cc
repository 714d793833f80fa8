#include "bootstrap/run/program_ender.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::run
