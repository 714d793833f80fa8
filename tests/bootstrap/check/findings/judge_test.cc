#include "bootstrap/check/findings/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bootstrap/check/sample_evidence.h"

namespace muster::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Messages(const std::vector<Finding>& findings) {
  std::vector<std::string> messages;
  for (const Finding& finding : findings) messages.push_back(finding.code + ": " + finding.message);
  return messages;
}

TEST(Judge, FindsNothingInAHealthyGroup) { EXPECT_EQ(Judge(SampleEvidence(4, 4)), Verdict{}); }

TEST(Judge, FindsNothingInAWorldOfOne) { EXPECT_EQ(Judge(SampleEvidence(1, 1)), Verdict{}); }

TEST(Judge, NamesBothEndsOfABrokenPair) {
  Evidence evidence = SampleEvidence(4, 1);
  evidence.links[1].troubles = {{2, "10.1.0.3:4001: Invalid argument"}};
  evidence.links[2].troubles = {{1, "10.1.0.2:4002: no answer within 4s"}};
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(
      Messages(verdict.failures),
      ElementsAre("pair_unreachable: gpu02 and gpu03 cannot reach each other: from gpu02: 10.1.0.3:4001: "
                  "Invalid argument; from gpu03: 10.1.0.2:4002: no answer within 4s"));
  EXPECT_THAT(verdict.failures[0].nodes, ElementsAre("gpu02", "gpu03"));
  EXPECT_THAT(verdict.exclude, IsEmpty());
  EXPECT_EQ(verdict.exit_status, 69);
}

TEST(Judge, SaysWhichDirectionIsBroken) {
  Evidence evidence = SampleEvidence(4, 1);
  evidence.links[2].troubles = {{1, "10.1.0.2:4002: Connection refused"}};
  EXPECT_THAT(
      Messages(Judge(evidence).failures),
      ElementsAre("pair_unreachable: gpu03 cannot reach gpu02: 10.1.0.2:4002: Connection refused; the other "
                  "way works"));
}

TEST(Judge, ANodeThatIsCutOffIsOneFinding) {
  Evidence evidence = SampleEvidence(5, 1);
  for (const int other : {0, 1, 4}) {
    evidence.links[2].troubles.push_back({other, "x"});
    evidence.links[static_cast<size_t>(other)].troubles.push_back({2, "y"});
  }
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(
      Messages(verdict.failures),
      ElementsAre(
          "node_unreachable: gpu03 and 3 of 4 other nodes cannot reach each other; one of them: gpu01 "
          "and gpu03 cannot reach each other: from gpu01: y; from gpu03: x"));
  EXPECT_THAT(verdict.exclude, ElementsAre("gpu03"));
  EXPECT_EQ(verdict.exit_status, 69);
}

TEST(Judge, ManyBrokenPairsStayReadable) {
  // Two halves of a cluster, apart.
  Evidence evidence = SampleEvidence(40, 1);
  for (int left = 0; left < 20; ++left)
    evidence.links[static_cast<size_t>(left)].troubles = {{left + 20, "x"}};
  const Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.failures.size(), 11U);
  EXPECT_EQ(verdict.failures.back().message, "and 10 more pairs of nodes");
  EXPECT_THAT(verdict.exclude, IsEmpty());
}

TEST(Judge, NamesTheRankOfAWrongResult) {
  Evidence evidence = SampleEvidence(2, 2);
  evidence.wrong = {{3, {0, "element 0 is 5, not 6"}}};
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(
      Messages(verdict.failures),
      ElementsAre("wrong_result: sum of all ranks is wrong on rank 3 on gpu02: element 0 is 5, not 6"));
  EXPECT_EQ(verdict.exit_status, 70);
}

TEST(Judge, ABrokenCollectiveKeepsItsCode) {
  Evidence evidence = SampleEvidence(2, 2);
  evidence.broken =
      Error{Code::kDeadline, "Barrier #2 did not finish within 30m: waiting for rank 3 on gpu02", ""};
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(Messages(verdict.failures),
              ElementsAre("deadline: Barrier #2 did not finish within 30m: waiting for rank 3 on gpu02"));
  EXPECT_EQ(verdict.exit_status, 75);
}

TEST(Judge, OnlyWhoIsSlowTwiceIsSlow) {
  Evidence evidence = SampleEvidence(4, 1);
  evidence.links[2].median.out_bytes_per_s = 10'000'000;
  evidence.again = SampleEvidence(4, 1).links;
  EXPECT_EQ(Judge(evidence), Verdict{});
  evidence.again = evidence.links;
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(Messages(verdict.warnings),
              ElementsAre("slow_node: gpu03 is slow: out 10 MB/s, the median node 1.0 GB/s"));
  EXPECT_THAT(verdict.exclude, ElementsAre("gpu03"));
  EXPECT_EQ(verdict.exit_status, 0);
}

TEST(Judge, WarnsOfAClockThatIsOff) {
  Evidence evidence = SampleEvidence(3, 1);
  evidence.links[1].median.clock_ahead_ns = -2'000'000'001;
  evidence.links[2].median.clock_ahead_ns = 2'000'000'000;
  EXPECT_THAT(Messages(Judge(evidence).warnings),
              ElementsAre("clock_skew: the clock of gpu02 is 2.0 s behind the other clocks"));
}

TEST(Judge, WarnsOfFewOpenFiles) {
  Evidence evidence = SampleEvidence(3, 2);
  evidence.ranks[3].open_files = 256;
  EXPECT_THAT(
      Messages(Judge(evidence).warnings),
      ElementsAre("open_files_low: only 256 open files (nofile) on gpu02; a group of 6 should have 1024"));
}

TEST(Judge, LargeGroupsNeedMoreOpenFiles) {
  Evidence evidence = SampleEvidence(1, 1984);
  evidence.nodes[0].shm_free = uint64_t{1} << 40;
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
  evidence = SampleEvidence(1, 1985);
  EXPECT_THAT(
      Messages(Judge(evidence).warnings),
      ElementsAre("open_files_low: only 4096 open files (nofile) on gpu01; a group of 1985 should have 4098",
                  "shm_small: only 8.0 GiB free in /dev/shm on gpu01"));
}

TEST(Judge, WarnsOfLittleLockedMemoryOnlyWhereItMatters) {
  Evidence evidence = SampleEvidence(2, 1);
  evidence.ranks[0].locked_memory = 8 << 20;
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
  for (NodeFacts& node : evidence.nodes) node.infiniband = true;
  EXPECT_THAT(
      Messages(Judge(evidence).warnings),
      ElementsAre("locked_memory_low: locked memory (memlock) is limited to 8.0 MiB on gpu01: InfiniBand and "
                  "GPU transfers pin more"));
}

TEST(Judge, WarnsOfASmallShm) {
  Evidence evidence = SampleEvidence(3, 1);
  evidence.nodes[0].shm_free = evidence.nodes[1].shm_free = 63 << 20;
  evidence.nodes[2].shm_free = 64 << 20;
  EXPECT_THAT(Messages(Judge(evidence).warnings),
              ElementsAre("shm_small: only 63 MiB free in /dev/shm on gpu[01-02]"));
}

TEST(Judge, WarnsOfNodesThatDiffer) {
  Evidence evidence = SampleEvidence(4, 1);
  evidence.nodes[1].muster = "0.2.0";
  evidence.nodes[3].mtu = 9000;
  evidence.nodes[0].interface = "ib0";
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(
      Messages(verdict.warnings),
      ElementsAre("muster_differs: muster's version differs: 0.1.0 on gpu[01,03-04]; 0.2.0 on gpu02",
                  "interface_differs: the network interface differs: eth0 on gpu[02-04]; ib0 on gpu01",
                  "mtu_differs: the MTU differs: 1500 on gpu[01-03]; 9000 on gpu04"));
  EXPECT_THAT(verdict.warnings[0].nodes, ElementsAre("gpu02"));
  EXPECT_EQ(verdict.exit_status, 0);
}

// A network has another interface's name on nodes of another kind.
TEST(Judge, AnInterfaceThatTheUserHasChosenMayDiffer) {
  Evidence evidence = SampleEvidence(4, 1);
  evidence.nodes[0].interface = "ib0";
  evidence.interface_set = true;
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
}

TEST(Judge, WarnsOfASharedDevice) {
  Evidence evidence = SampleEvidence(2, 2);
  for (NodeFacts& node : evidence.nodes) node.gpus = 4;
  // In a device cgroup: those of all ranks.
  for (RankFacts& rank : evidence.ranks) rank.visible_devices = "0";
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
  evidence.ranks[2].visible_devices = evidence.ranks[3].visible_devices = "1";
  EXPECT_THAT(Messages(Judge(evidence).warnings),
              ElementsAre("device_shared: ranks 2,3 on gpu02 have the same GPU: CUDA_VISIBLE_DEVICES=1"));
}

// By rank, on one node with `gpus` device files.
std::vector<std::string> DeviceWarnings(uint32_t gpus, const std::vector<std::string>& visible) {
  Evidence evidence = SampleEvidence(1, static_cast<int>(visible.size()));
  evidence.nodes[0].gpus = gpus;
  for (size_t rank = 0; rank < visible.size(); ++rank) evidence.ranks[rank].visible_devices = visible[rank];
  return Messages(Judge(evidence).warnings);
}

TEST(Judge, WarnsOfMoreRanksThanDevices) {
  Evidence evidence = SampleEvidence(2, 3);
  for (NodeFacts& node : evidence.nodes) node.gpus = 2;
  EXPECT_THAT(Messages(Judge(evidence).warnings),
              ElementsAre("device_shared: more ranks than visible GPUs on gpu[01-02]"));
  for (RankFacts& rank : evidence.ranks) rank.visible_devices = "0,1";
  EXPECT_THAT(Messages(Judge(evidence).warnings),
              ElementsAre("device_shared: more ranks than visible GPUs on gpu[01-02]"));
}

TEST(Judge, ComparesTheRanksOfANodeWithTheGpusOfAllOfThem) {
  EXPECT_THAT(DeviceWarnings(8, {"0,1", "2,3", "4,5", "6,7"}), IsEmpty());
  const auto crowded = ElementsAre("device_shared: more ranks than visible GPUs on gpu01");
  EXPECT_THAT(DeviceWarnings(8, {"2,3", "2,3", "2,3"}), crowded);
  EXPECT_THAT(DeviceWarnings(8, {"GPU-a,GPU-b", "GPU-a,GPU-b", "GPU-a,GPU-b"}), crowded);
}

// "0,1" in a device cgroup may be two GPUs of each rank's own.
TEST(Judge, WarnsNotOfListsThatMayBeThoseOfDeviceCgroups) {
  EXPECT_THAT(DeviceWarnings(8, {"0,1", "0,1", "0,1"}), IsEmpty());
  EXPECT_THAT(DeviceWarnings(0, {"0,1", "0,1", "0,1"}), IsEmpty());
}

TEST(Judge, RanksWithoutAGpuShareNone) {
  for (const char* none : {"", "-1", "NoDevFiles"}) EXPECT_THAT(DeviceWarnings(8, {none, none}), IsEmpty());
  EXPECT_THAT(DeviceWarnings(2, {"0,1", "-1", "-1"}), IsEmpty());
  EXPECT_THAT(DeviceWarnings(8, {"2,-1,1", "2"}),
              ElementsAre("device_shared: ranks 0,1 on gpu01 have the same GPU: CUDA_VISIBLE_DEVICES=2"));
}

}  // namespace
}  // namespace muster::check
