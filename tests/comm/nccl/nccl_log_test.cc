#include "comm/nccl/nccl_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/comm/base/log_capture.h"

namespace muster::nccl {
namespace {

void WaitFor(const LogCapture& log, std::string_view part) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!log.Has(part) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(log.Has(part)) << log.Text();
}

TEST(NcclLog, BecomesMustersWithTheRankInFront) {
  const LogCapture log;
  SetLogSubject({3, "gpu01", "job"});
  const auto path = OpenNcclLog();
  ASSERT_TRUE(path) << path.error().message;
  // As NCCL does it.
  std::ofstream nccl(*path);
  nccl << "gpu01:71:75 [0] NCCL INFO Bootstrap: Using eth0\n"
       << "[2026-11-22 06:37:19] gpu01:71:75 [0] graph/xml.cc:1 NCCL WARN no such thing\npart of "
       << std::flush;
  WaitFor(log, "rank 3 on gpu01: NCCL INFO Bootstrap: Using eth0\n");
  WaitFor(log, "warning: NCCL WARN no such thing\n");
  nccl << "a line\n" << std::flush;
  WaitFor(log, "rank 3 on gpu01: part of a line\n");
  nccl << std::string(20'000, 'x') << std::flush;
  WaitFor(log, "xxx");
  SetLogSubject({});
}

// A program that inherits the path does not have the descriptor, or has another file there.
TEST(NcclLog, TakesTheLinesOfProgramsThatThisOneStarts) {
  const LogCapture log;
  const auto path = OpenNcclLog();
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(std::system(("echo NCCL INFO of a program > " + *path).c_str()), 0);
  WaitFor(log, "NCCL INFO of a program\n");
}

TEST(MessageOfNcclLine, LosesNcclsOwnPrefix) {
  EXPECT_EQ(MessageOfNcclLine("gpu01:1:2 [0] NCCL INFO x"), "NCCL INFO x");
  EXPECT_EQ(MessageOfNcclLine("something else"), "something else");
}

}  // namespace
}  // namespace muster::nccl
