#include "comm/nccl/devices/gpu_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"
#include "tests/comm/nccl/computing_cuda.h"

namespace muster::nccl {
namespace {

using testing::HasSubstr;

// cudaErrorSystemNotReady: the report of a node whose fabric manager has not started.
constexpr CudaResult kNotReadyYet{802};

std::string ProblemOf(ComputingCuda& cuda, const DeviceQuestion& question = {}) {
  const auto verdict = ExamineGpu(cuda, question);
  return verdict ? verdict->problem : "error: " + verdict.error().message;
}

TEST(ExamineGpu, PicksThisRanksOwn) {
  ComputingCuda cuda;
  cuda.count = 2;
  const auto verdict = ExamineGpu(cuda, {.local_rank = 1, .local_size = 2});
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(*verdict,
            (GpuVerdict{"", 1, "GPU-01000000-0000-0000-0000-000000000001", "Computing GPU", false}));
  EXPECT_TRUE(verdict->usable());
}

TEST(ExamineGpu, SaysWhereTheOthersGpusAreHidden) {
  ComputingCuda cuda;
  EXPECT_TRUE(ExamineGpu(cuda, {.local_rank = 1, .local_size = 2})->peers_hidden);
  EXPECT_FALSE(ExamineGpu(cuda, {.local_rank = 0, .local_size = 1})->peers_hidden);
}

TEST(ExamineGpu, TooFewForAllIsAnErrorAndNoVerdict) {
  ComputingCuda cuda;
  cuda.count = 2;
  EXPECT_THAT(ProblemOf(cuda, {.local_rank = 0, .local_size = 4}),
              HasSubstr("error: 4 ranks on this node see 2 GPUs"));
}

TEST(ExamineGpu, SaysWhyThereIsNone) {
  ComputingCuda none;
  none.count = 0;
  EXPECT_EQ(ProblemOf(none), "no GPU");
  none.count_answer = CudaResult::kNoDevice;
  EXPECT_EQ(ProblemOf(none, {.visible_list = "NoDevFiles"}), "no GPU (CUDA_VISIBLE_DEVICES=NoDevFiles)");
}

TEST(ExamineGpu, SaysWhatIsWrongWithTheDriver) {
  ComputingCuda cuda;
  cuda.driver = 0;
  EXPECT_EQ(ProblemOf(cuda), "no CUDA driver (libcuda.so.1)");
  cuda.driver = 12'080;
  EXPECT_EQ(ProblemOf(cuda), "the driver is for CUDA 12.8, /fake/libcudart.so.13 for CUDA 13.0");
  cuda.driver_answer = kNotReadyYet;
  EXPECT_EQ(ProblemOf(cuda), "the CUDA driver cannot be queried: system not yet initialized");
}

TEST(ExamineGpu, ANewerDriverWillDo) {
  ComputingCuda cuda;
  cuda.driver = 13'020;
  EXPECT_EQ(ProblemOf(cuda), "");
  cuda.driver = 14'000;
  EXPECT_EQ(ProblemOf(cuda), "");
}

TEST(ExamineGpu, SaysWhatIsWrongWithTheGpu) {
  ComputingCuda cuda;
  cuda.device_answer = kNotReadyYet;
  EXPECT_EQ(ProblemOf(cuda), "GPU 0 does not answer: system not yet initialized");
  cuda.count_answer = kNotReadyYet;
  EXPECT_EQ(ProblemOf(cuda), "the GPUs cannot be counted: system not yet initialized");
}

}  // namespace
}  // namespace muster::nccl
