#include "bootstrap/doctor/system.h"

#include <gtest/gtest.h>

namespace muster::doctor {
namespace {

constexpr uint64_t kGiB = 1 << 30;

check::RankFacts Files(uint64_t soft, uint64_t hard) {
  check::RankFacts facts;
  facts.open_files = soft;
  facts.open_files_most = hard;
  facts.cpus = 8;
  return facts;
}

check::NodeFacts Shm(uint64_t free, uint64_t total) {
  check::NodeFacts facts;
  facts.shm_free = free;
  facts.shm_total = total;
  return facts;
}

TEST(JudgeSystem, SaysWhatTheMachineIs) {
  check::NodeFacts node;
  node.kernel = "4.18.0-553.el8";
  node.libc = "2.28";
  const Finding finding = JudgeSystem(node, Files(1, 1), "x86_64");
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found, "Linux 4.18.0-553.el8, glibc 2.28, x86_64, 8 processors");
}

TEST(JudgeLimits, TheHardLimitDecides) {
  EXPECT_EQ(JudgeLimits(Files(1024, 524288)).found, "open files: 1024, raised to 524288 if needed");
  EXPECT_EQ(JudgeLimits(Files(1024, 524288)).health, Health::kOk);
  EXPECT_EQ(JudgeLimits(Files(check::kUnlimited, check::kUnlimited)).found, "open files: unlimited");
  EXPECT_EQ(JudgeLimits(Files(check::kUnlimited, check::kUnlimited)).health, Health::kOk);
}

TEST(JudgeLimits, AFewRanksOnlyIsANote) {
  const Finding finding = JudgeLimits(Files(1024, 1024));
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(finding.cost, "a rank cannot have connections with more than 448 others");
  EXPECT_EQ(JudgeLimits(Files(10, 10)).cost, "a rank cannot have connections with more than 0 others");
}

TEST(JudgeSharedMemory, SmallOrAbsentIsANote) {
  EXPECT_EQ(JudgeSharedMemory(Shm(32 * kGiB, 64 * kGiB)).health, Health::kOk);
  EXPECT_EQ(JudgeSharedMemory(Shm(32 << 20, 64 << 20)).health, Health::kNote);
  EXPECT_EQ(JudgeSharedMemory(Shm(0, 0)).found, "not there");
  EXPECT_EQ(JudgeSharedMemory(Shm(0, 0)).health, Health::kNote);
}

TEST(JudgeSharedMemory, EveryGpuHasARank) {
  check::NodeFacts node = Shm(100 << 20, 100 << 20);
  EXPECT_EQ(JudgeSharedMemory(node).health, Health::kOk);
  node.gpus = 8;
  EXPECT_EQ(JudgeSharedMemory(node).health, Health::kNote);
}

}  // namespace
}  // namespace muster::doctor
