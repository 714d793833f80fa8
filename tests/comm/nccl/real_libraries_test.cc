// The real libraries, with or without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/nccl/devices/gpu_verdict.h"
#include "comm/nccl/libraries/libraries.h"
#include "tests/comm/nccl/real_files.h"

namespace muster::nccl {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::unique_ptr<NcclApi> TheNccl() {
  auto nccl = LoadNccl({RealFiles("libnccl.so."), {}});
  EXPECT_TRUE(nccl) << ToString(nccl.error());
  return nccl ? *std::move(nccl) : nullptr;
}

std::unique_ptr<CudaApi> TheCuda() {
  auto cuda = LoadCuda({RealFiles("libcudart.so."), {}});
  EXPECT_TRUE(cuda) << ToString(cuda.error());
  return cuda ? *std::move(cuda) : nullptr;
}

TEST(RealNccl, SaysItsVersionAndWhatItCanDo) {
  const auto nccl = TheNccl();
  ASSERT_TRUE(nccl);
  EXPECT_TRUE(nccl->version().AtLeast(kLeastNccl));
  EXPECT_EQ(nccl->HasInitScalable(), nccl->version().AtLeast({2, 23, 0}));
  EXPECT_EQ(nccl->Describe(NcclResult::kSuccess), "no error");
}

TEST(RealNccl, DrawsIdsWithoutAGpu) {
  const auto nccl = TheNccl();
  ASSERT_TRUE(nccl);
  NcclId first = {};
  NcclId second = {};
  ASSERT_EQ(nccl->GetUniqueId(&first), NcclResult::kSuccess) << nccl->LastError();
  ASSERT_EQ(nccl->GetUniqueId(&second), NcclResult::kSuccess) << nccl->LastError();
  EXPECT_NE(first, NcclId{});
  EXPECT_NE(first, second);
}

TEST(RealCuda, SaysItsVersion) {
  const auto cuda = TheCuda();
  ASSERT_TRUE(cuda);
  EXPECT_GE(cuda->runtime_version(), kLeastCuda);
  EXPECT_THAT(cuda->path(), HasSubstr("libcudart.so."));
  EXPECT_EQ(cuda->Explain(CudaResult::kNoDevice), "no CUDA-capable device is detected");
}

bool HasDriver(CudaApi& cuda) {
  int version = -1;
  EXPECT_EQ(cuda.DriverVersion(&version), CudaResult::kSuccess);
  return version != 0;
}

TEST(RealCuda, CountsAndNamesTheDevicesOrSaysThatThereIsNoDriver) {
  const auto cuda = TheCuda();
  ASSERT_TRUE(cuda);
  int count = -1;
  CudaDevice device;
  if (!HasDriver(*cuda)) {
    EXPECT_EQ(cuda->DeviceCount(&count), CudaResult::kInsufficientDriver);
    EXPECT_EQ(cuda->Describe(0, &device), CudaResult::kInsufficientDriver);
    return;
  }
  const CudaResult counted = cuda->DeviceCount(&count);
  ASSERT_THAT(counted, AnyOf(CudaResult::kSuccess, CudaResult::kNoDevice));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ASSERT_EQ(cuda->Describe(ordinal, &device), CudaResult::kSuccess);
    EXPECT_NE(device.name, "");
    EXPECT_NE(device.uuid, (std::array<uint8_t, 16>{}));
  }
}

TEST(RealCuda, WithoutADriverTheVerdictSaysSo) {
  const auto cuda = TheCuda();
  ASSERT_TRUE(cuda);
  const auto verdict = ExamineGpu(*cuda, {});
  ASSERT_TRUE(verdict) << verdict.error().message;
  if (!HasDriver(*cuda)) {
    EXPECT_EQ(verdict->problem, "no CUDA driver (libcuda.so.1)");
  }
}

TEST(RealNccl, InitFailsAtOnceWithoutADriverAndSaysWhy) {
  const auto cuda = TheCuda();
  const auto nccl = TheNccl();
  ASSERT_TRUE(cuda && nccl);
  std::vector<NcclId> ids(1);
  ASSERT_EQ(nccl->GetUniqueId(&ids.front()), NcclResult::kSuccess) << nccl->LastError();
  NcclComm comm = nullptr;
  const NcclResult begun = nccl->Init(&comm, 1, 0, ids);
  if (HasDriver(*cuda)) {
    EXPECT_THAT(begun, AnyOf(NcclResult::kSuccess, NcclResult::kInProgress));
    EXPECT_EQ(nccl->Abort(comm), NcclResult::kSuccess);
    return;
  }
  EXPECT_EQ(begun, NcclResult::kUnhandledCudaError);
  EXPECT_THAT(nccl->LastError(), HasSubstr("driver version is insufficient"));
}

}  // namespace
}  // namespace muster::nccl
