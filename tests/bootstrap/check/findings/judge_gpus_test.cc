#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/check/findings/judge.h"
#include "bootstrap/check/findings/report.h"
#include "tests/bootstrap/check/sample_evidence.h"

namespace muster::check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// gpu01 and gpu02 with two healthy GPUs each.
Evidence WithGpus() {
  Evidence evidence = SampleEvidence(2, 2);
  for (int rank = 0; rank < 4; ++rank) {
    GpuFacts gpu;
    gpu.uuid = fmt::format("GPU-{}", rank);
    gpu.name = "NVIDIA H100";
    gpu.words = 1000;
    gpu.elements = 4096;
    gpu.write_bytes_per_s = 2'000'000'000'000;
    gpu.read_bytes_per_s = 2'500'000'000'000;
    gpu.product_flops = 5'000'000'000'000;
    gpu.errors = {0, 0, false, false};
    evidence.gpus.push_back(gpu);
  }
  return evidence;
}

TEST(JudgeGpus, FindsNothingOnHealthyGpus) { EXPECT_EQ(Judge(WithGpus()), Verdict{}); }

TEST(JudgeGpus, AWrongResultFailsTheCheck) {
  Evidence evidence = WithGpus();
  evidence.gpus[1].wrong_words = 3;
  evidence.gpus[2].wrong_elements = 1;
  const Verdict verdict = Judge(evidence);
  ASSERT_THAT(verdict.failures, SizeIs(2));
  EXPECT_EQ(verdict.failures[0].code, "gpu_wrong_result");
  EXPECT_EQ(verdict.failures[0].message, "GPU-1 of rank 1 on gpu01: 3 of 1000 words of its memory changed");
  EXPECT_EQ(verdict.failures[1].message,
            "GPU-2 of rank 2 on gpu02: 1 of 4096 elements of a matrix product are wrong");
  EXPECT_THAT(verdict.exclude, ElementsAre("gpu01", "gpu02"));
  EXPECT_EQ(verdict.exit_status, 70);
  EXPECT_THAT(CheckText(evidence, verdict), HasSubstr("\n  GPU checks   FAILED   2 of 4 GPUs\n"));
}

TEST(JudgeGpus, ACheckThatDidNotEndFailsTheCheck) {
  Evidence evidence = WithGpus();
  evidence.gpus[3].problem = "its checks did not end within 30s";
  const Verdict verdict = Judge(evidence);
  ASSERT_THAT(verdict.failures, SizeIs(1));
  EXPECT_EQ(verdict.failures[0].code, "gpu_failed");
  EXPECT_EQ(verdict.failures[0].message, "GPU-3 of rank 3 on gpu02: its checks did not end within 30s");
  EXPECT_THAT(verdict.failures[0].nodes, ElementsAre("gpu02"));
  EXPECT_THAT(verdict.exclude, ElementsAre("gpu02"));
  EXPECT_EQ(verdict.exit_status, 70);
}

TEST(JudgeGpus, AGpuWhoseMemoryIsTakenIsNotBroken) {
  Evidence evidence = WithGpus();
  evidence.gpus[3].problem =
      "its memory is taken by python3 (process 4711, 78 GiB): the GPU has no free memory";
  evidence.gpus[3].memory_taken = true;
  const Verdict verdict = Judge(evidence);
  ASSERT_THAT(verdict.failures, SizeIs(1));
  EXPECT_EQ(verdict.failures[0].code, "gpu_memory_taken");
  EXPECT_EQ(verdict.failures[0].message, "GPU-3 of rank 3 on gpu02: " + evidence.gpus[3].problem);
  EXPECT_THAT(verdict.failures[0].hint, HasSubstr("end that process"));
  EXPECT_EQ(verdict.exit_status, 70);
  EXPECT_THAT(CheckText(evidence, verdict), HasSubstr("\n  GPU checks   FAILED   1 of 4 GPUs\n"));
}

TEST(JudgeGpus, MemoryErrorsAreWarnings) {
  Evidence evidence = WithGpus();
  evidence.gpus[0].errors = {9, 2, false, false};
  evidence.gpus[1].errors.remap_pending = true;
  evidence.gpus[2].errors.remap_failed = true;
  evidence.gpus[3].errors = {};
  const Verdict verdict = Judge(evidence);
  EXPECT_THAT(verdict.failures, IsEmpty());
  EXPECT_EQ(verdict.exit_status, 0);
  std::vector<std::string> messages;
  for (const Finding& warning : verdict.warnings) messages.push_back(warning.code + ": " + warning.message);
  EXPECT_THAT(
      messages,
      ElementsAre("gpu_memory_errors: GPU-0 of rank 0 on gpu01: 2 uncorrected memory errors since its "
                  "driver started",
                  "gpu_memory_errors: GPU-1 of rank 1 on gpu01: a bad memory row is in use until the "
                  "GPU is reset",
                  "gpu_memory_errors: GPU-2 of rank 2 on gpu02: it has no spare memory row left"));
}

TEST(JudgeGpus, ASlowGpuIsComparedWithItsKind) {
  Evidence evidence = WithGpus();
  evidence.gpus[2].read_bytes_per_s = 1'600'000'000'000;
  const Verdict verdict = Judge(evidence);
  ASSERT_THAT(verdict.warnings, SizeIs(1));
  EXPECT_EQ(verdict.warnings[0].code, "gpu_slow");
  EXPECT_EQ(verdict.warnings[0].message,
            "GPU-2 of rank 2 on gpu02 is slow: memory read 1.6 TB/s, the median NVIDIA H100 2.5 TB/s");
  // Two kinds of two: none is the rule.
  evidence.gpus[2].name = evidence.gpus[3].name = "NVIDIA A100";
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
}

TEST(JudgeGpus, RanksThatShareAGpuAreNotCompared) {
  Evidence evidence = WithGpus();
  evidence.gpus[1].uuid = evidence.gpus[0].uuid;
  evidence.gpus[0].product_flops = 1'000'000'000'000;
  EXPECT_THAT(Judge(evidence).warnings, IsEmpty());
}

TEST(JudgeGpus, TheReportHasTheRates) {
  Evidence evidence = WithGpus();
  evidence.gpus[0].write_bytes_per_s = 1'900'000'000'000;
  EXPECT_THAT(
      CheckText(evidence, Judge(evidence)),
      HasSubstr("  GPU checks   ok       memory and a matrix product give the right result; write 1.9 "
                "TB/s to 2.0 TB/s; read 2.5 TB/s; product 5.0 TFLOP/s\n"));
  evidence.gpus[0].errors_problem = "no libnvidia-ml.so.1";
  EXPECT_THAT(CheckText(evidence, Judge(evidence)), HasSubstr("; memory errors are not known on all\n"));
  const std::string json = CheckJson(evidence, Judge(evidence));
  EXPECT_THAT(json, HasSubstr(R"("gpus":[{"rank":0,"node":"gpu01","uuid":"GPU-0","name":"NVIDIA H100",)"));
  EXPECT_THAT(json, HasSubstr(R"("corrected_errors":0,"uncorrected_errors":0,"remap_pending":false,)"));
}

}  // namespace
}  // namespace muster::check
