#include "bootstrap/check/findings/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/check/gather.h"
#include "tests/bootstrap/check/sample_evidence.h"

namespace muster::check {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextOf(const Evidence& evidence) { return CheckText(evidence, Judge(evidence)); }
std::string JsonOf(const Evidence& evidence) { return CheckJson(evidence, Judge(evidence)); }

TEST(CheckText, IsATable) {
  EXPECT_EQ(
      TextOf(SampleEvidence(2, 4)),
      "muster check: 8 ranks on gpu[01-02], slurm:4.0:0\n"
      "\n"
      "  group        ok       8 ranks, 4 on each; formed in 0.2 s\n"
      "  connections  ok       the one pair of nodes, both ways\n"
      "  round trip            least 45 us (gpu01), median 45 us, most 45 us (gpu02)\n"
      "  out                   least 1.0 GB/s (gpu01), median 1.0 GB/s, most 1.0 GB/s (gpu02)\n"
      "  in                    least 1.1 GB/s (gpu01), median 1.1 GB/s, most 1.1 GB/s (gpu02)\n"
      "  collectives  ok       the sum of all ranks is 28; all 2 trials give the right result\n"
      "  limits                open files 4096; locked memory unlimited; free in /dev/shm 8.0 GiB\n"
      "  first node            muster 0.1.0, Linux 6.1.0, glibc 2.36; eth0 with MTU 1500; GPUs on a node: 0\n"
      "\n"
      "  node   ranks       round trip        out         in      clock\n"
      "  gpu01  0-3              45 us   1.0 GB/s   1.1 GB/s      <1 ms\n"
      "  gpu02  4-7              45 us   1.0 GB/s   1.1 GB/s      <1 ms\n"
      "\n"
      "passed in 1.5 s\n");
}

nccl::GpuHello Hello(std::string nccl) {
  return {{"", 0, "GPU-1", "NVIDIA H100"}, "", "", "13.0", "12.8", std::move(nccl)};
}

TEST(CheckText, PrintsTheVersionsThatTheNodesHave) {
  Evidence evidence = SampleEvidence(3, 1);
  EXPECT_THAT(TextOf(evidence), Not(HasSubstr("  GPUs")));
  AddGpuFacts({Hello("2.27.5"), Hello("2.27.5"), Hello("2.27.5")}, evidence);
  EXPECT_THAT(
      TextOf(evidence),
      HasSubstr("\n  GPUs         ok       NVIDIA H100, driver for CUDA 13.0, CUDA 12.8, NCCL 2.27.5\n"));
  nccl::GpuHello without;
  without.verdict.problem = "no CUDA driver (libcuda.so.1)";
  without.cuda = "12.8";
  AddGpuFacts({Hello(""), without, without}, evidence);
  EXPECT_THAT(TextOf(evidence),
              HasSubstr("  GPUs                  gpu01: NVIDIA H100, driver for CUDA 13.0, CUDA 12.8\n"
                        "  GPUs                  gpu[02-03]: no CUDA driver (libcuda.so.1), CUDA 12.8\n"));
  EXPECT_THAT(TextOf(evidence), HasSubstr("warning: the GPUs' driver"));
}

TEST(CheckText, OfAWorldOfOneSaysSo) {
  Evidence evidence = SampleEvidence(1, 1);
  evidence.launcher = "none";
  EXPECT_THAT(TextOf(evidence), HasSubstr("muster check: 1 rank on gpu01, no launcher\n\n"
                                          "  group        ok       a world of one: there is no other rank\n"
                                          "  collectives  ok       the sum of all ranks is 0; all 2 trials"));
}

TEST(CheckText, OfAThousandNodesNamesOnlyThoseThatStandOut) {
  Evidence evidence = SampleEvidence(1000, 1);
  evidence.links[2].median.round_trip_ns = 20'000'000;
  evidence.again = evidence.links;
  const std::string text = TextOf(evidence);
  EXPECT_THAT(text, HasSubstr("most 20 ms (gpu03)\n"));
  EXPECT_THAT(text,
              HasSubstr("clock\n  gpu03    2                20 ms   1.0 GB/s   1.1 GB/s      <1 ms\n\n"));
  EXPECT_THAT(text, HasSubstr("\nwarning: gpu03 is slow: round trip 20 ms, the median node 45 us\n"
                              "  every collective waits for it: leave it out\n"
                              "\n--exclude=gpu03\n\npassed in 1.5 s with 1 warning\n"));
  EXPECT_LT(text.size(), 2000U);
}

TEST(CheckText, SaysWhyCollectivesWereNotTried) {
  Evidence evidence = SampleEvidence(3, 1);
  evidence.trials.clear();
  evidence.links[1].troubles = {{2, "10.1.0.3:4001: Connection refused"}};
  const std::string text = TextOf(evidence);
  EXPECT_THAT(text, HasSubstr("  connections  FAILED   not all of 3 pairs of nodes, both ways\n"));
  EXPECT_THAT(text, HasSubstr("  collectives  not run  they need all nodes to reach each other\n"));
  EXPECT_THAT(
      text, HasSubstr("\nFAILED: gpu02 cannot reach gpu03: 10.1.0.3:4001: Connection refused; the other way "
                      "works\n"));
  EXPECT_THAT(text, HasSubstr("\nfailed in 1.5 s: 1 failure\n"));
  EXPECT_THAT(text, Not(HasSubstr("--exclude")));
}

TEST(CheckText, LeavesOutBandwidthThatWasNotMeasured) {
  Evidence evidence = SampleEvidence(2, 1);
  evidence.bandwidth = false;
  for (NodeLinks& links : evidence.links) links.median.out_bytes_per_s = links.median.in_bytes_per_s = 0;
  const std::string text = TextOf(evidence);
  EXPECT_THAT(text, Not(HasSubstr("\n  out ")));
  EXPECT_THAT(text, HasSubstr("  gpu01  0                45 us          -          -      <1 ms\n"));
}

TEST(CheckJson, IsOneObject) {
  Evidence evidence = SampleEvidence(1, 2);
  evidence.ranks[1].open_files = 2048;
  EXPECT_EQ(
      JsonOf(evidence),
      R"({"passed":true,"exit_status":0,"launcher":"slurm","job":"slurm:4.0:0","world_size":2,"num_nodes":1,)"
      R"("formed_s":0.2,"took_s":1.5,"failures":[],"warnings":[],"exclude":[],)"
      R"("nodes":[{"node":"gpu01","ranks":"0,1","addresses":["10.1.0.1"],"interface":"eth0","mtu":1500,)"
      R"("links":null,"open_files":2048,"open_files_most":65536,"locked_memory_bytes":"unlimited","cpus":2,)"
      R"("shm_free_bytes":8589934592,"shm_total_bytes":17179869184,"gpus":0,"gpu":null,"gpu_problem":null,"driver":null,"cuda":null,"nccl":null,)"
      R"("infiniband":false,)"
      R"("muster":"0.1.0","kernel":"6.1.0","libc":"2.36"}],"gpus":[],)"
      R"("collectives":[{"trial":"sum of all ranks","right":true,"wrong":[]},)"
      R"({"trial":"Barrier","right":true,"wrong":[]}]})"
      "\n");
}

TEST(CheckJson, HasTheFiguresOfALink) {
  EXPECT_THAT(JsonOf(SampleEvidence(2, 1)),
              HasSubstr(R"("links":{"measured":1,"round_trip_us":45.0,"out_bytes_per_s":1000000000,)"
                        R"("in_bytes_per_s":1100000000,"clock_ahead_ms":0.0})"));
}

TEST(CheckJson, NamesWhatIsWrong) {
  Evidence evidence = SampleEvidence(2, 1);
  evidence.wrong = {{1, {0, "element 0 is 5, not 1"}}};
  const std::string json = JsonOf(evidence);
  EXPECT_THAT(json, HasSubstr(R"({"passed":false,"exit_status":70,)"));
  EXPECT_THAT(
      json,
      HasSubstr(R"("failures":[{"code":"wrong_result","message":"sum of all ranks is wrong on rank 1 on )"
                R"(gpu02: element 0 is 5, not 1","hint":)"));
  EXPECT_THAT(json,
              HasSubstr(R"({"trial":"sum of all ranks","right":false,"wrong":[{"rank":1,"node":"gpu02",)"
                        R"("message":"element 0 is 5, not 1"}]})"));
}

TEST(CheckJson, DoesNotKnowHowFarABrokenGroupCame) {
  Evidence evidence = SampleEvidence(2, 1);
  evidence.broken = Error{Code::kPeerLost, "rank 1 on gpu02 ended without leaving its group", ""};
  EXPECT_THAT(JsonOf(evidence), HasSubstr(R"({"trial":"Barrier","right":null,"wrong":[]})"));
}

}  // namespace
}  // namespace muster::check
