#include <gtest/gtest.h>

#include "bootstrap/doctor/findings.h"

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

TEST(JudgeLimits, LimitsOfLoginNodesAreNotes) {
  const check::RankFacts files = Files(1024, 524288);
  const Finding low = JudgeLimits(files, {{50}, {uint64_t{200} << 20}, {uint64_t{1} << 20}});
  EXPECT_EQ(low.health, Health::kNote);
  EXPECT_EQ(low.found,
            "open files: 1024, raised to 524288 if needed; processes: 50; virtual memory: 200 MiB; file "
            "size: 1.0 MiB");
  EXPECT_EQ(low.cost,
            "programs cannot start more processes and threads; CUDA and PyTorch reserve more virtual memory, "
            "and fail;"
            " a program that writes a larger file, or a larger part of /dev/shm, is ended by SIGXFSZ");
  EXPECT_EQ(low.facts.size(), 6U);
  EXPECT_EQ(low.facts.back(), (std::pair<std::string, std::string>("file_size", "1048576")));
  EXPECT_EQ(JudgeLimits(files, {{1024}, {uint64_t{1} << 40}, {kGiB}}).health, Health::kOk);
  EXPECT_EQ(JudgeLimits(files, {}).facts.back().second, "unlimited");
}

TEST(JudgeLimits, NamesARemedyThatTheHardLimitAllows) {
  const check::RankFacts files = Files(1024, 524288);
  const auto remedy = [&](const LoginLimits& limits) { return JudgeLimits(files, limits).remedy; };
  const uint64_t little = uint64_t{200} << 20;
  EXPECT_EQ(remedy({{}, {little, check::kUnlimited}, {}}), "use a compute node, or ulimit -v unlimited");
  EXPECT_EQ(remedy({{}, {little, uint64_t{2} << 40}, {}}), "use a compute node, or ulimit -v hard");
  EXPECT_EQ(remedy({{}, {little, little}, {}}),
            "use a compute node, or ask the administrator for a higher hard limit (200 MiB), as ulimit -v "
            "cannot raise it");
  EXPECT_EQ(remedy({{50, check::kUnlimited}, {}, {}}),
            "use a compute node, or ulimit -u with a higher number");
  EXPECT_EQ(remedy({{50, 4096}, {}, {}}), "use a compute node, or ulimit -u hard");
  EXPECT_EQ(remedy({{50, 100}, {}, {}}),
            "use a compute node, or ask the administrator for a higher hard limit (100), as ulimit -u cannot "
            "raise it");
  EXPECT_EQ(remedy({{}, {}, {little, kGiB}}), "use a compute node, or ulimit -f hard");
  EXPECT_EQ(remedy({{}, {}, {little, little}}),
            "use a compute node, or ask the administrator for a higher hard limit (200 MiB), as ulimit -f "
            "cannot raise it");
}

TEST(JudgeSharedMemory, ThatCannotBeWrittenIsANote) {
  const Finding finding = JudgeSharedMemory(Shm(32 * kGiB, 64 * kGiB), "Read-only file system");
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(finding.found, "32 GiB free of 64 GiB; this user cannot write there: Read-only file system");
  EXPECT_EQ(finding.remedy, "mount /dev/shm for writing, with mode 1777");
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
