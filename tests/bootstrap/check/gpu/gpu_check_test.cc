#include "bootstrap/check/gpu/gpu_check.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "bootstrap/check/gpu/driver.h"
#include "bootstrap/check/gpu/kernels.h"
#include "bootstrap/check/gpu/memory_errors.h"
#include "comm/base/unique_fd.h"
#include "comm/system/proc_file.h"

namespace muster::check {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kFirst = "GPU-01000000-0000-0000-0000-000000000000";
constexpr const char* kSecond = "GPU-01000000-0000-0000-0000-000000000001";

// The loader finds a library that is loaded already by its name.
class GpuCheckTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* path : {"tests/gpu/standin/libcuda.so.1", "tests/gpu/standin/libnvidia-ml.so.1"}) {
      ASSERT_NE(dlopen(path, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    }
  }
  void TearDown() override {
    for (const char* name : {"STANDIN_GPU_FAULT", "STANDIN_GPU_ERRORS", "STANDIN_GPU_USER", "STANDIN_GPUS"})
      unsetenv(name);
  }
  static GpuFacts Check(bool rates = false) { return CheckGpu({kFirst, "a GPU"}, rates, seconds(60)); }
};

TEST_F(GpuCheckTest, FindsAHealthyGpuRight) {
  const GpuFacts facts = Check(true);
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.uuid, kFirst);
  EXPECT_EQ(facts.name, "a GPU");
  EXPECT_EQ(facts.words, (2 << 20) / 8 / 4);
  EXPECT_EQ(facts.wrong_words, 0);
  EXPECT_EQ(facts.elements, 64 * 64);
  EXPECT_EQ(facts.wrong_elements, 0);
  EXPECT_GT(facts.write_bytes_per_s, 0);
  EXPECT_GT(facts.read_bytes_per_s, 0);
  EXPECT_GT(facts.product_flops, 0);
  EXPECT_EQ(facts.errors, GpuMemoryErrors{});
  EXPECT_EQ(facts.errors_problem, "");
}

TEST_F(GpuCheckTest, MeasuresNothingWithoutRates) {
  const GpuFacts facts = Check();
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.write_bytes_per_s + facts.read_bytes_per_s + facts.product_flops, 0);
  EXPECT_GT(facts.words, 0);
}

TEST_F(GpuCheckTest, FindsABitThatChanged) {
  setenv("STANDIN_GPU_FAULT", "memory", 1);
  const GpuFacts facts = Check();
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.wrong_words, 1);
  EXPECT_EQ(facts.wrong_elements, 0);
}

TEST_F(GpuCheckTest, FindsAWrongElement) {
  setenv("STANDIN_GPU_FAULT", "product", 1);
  const GpuFacts facts = Check();
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.wrong_words, 0);
  EXPECT_EQ(facts.wrong_elements, 1);
}

TEST_F(GpuCheckTest, ReportsTheDriversError) {
  setenv("STANDIN_GPU_FAULT", "launch", 1);
  EXPECT_EQ(Check().problem, "the GPU's driver cannot launch a kernel: an error of the stand-in (error 719)");
}

TEST_F(GpuCheckTest, LeavesAGpuThatHangs) {
  setenv("STANDIN_GPU_FAULT", "hang", 1);
  const GpuFacts facts = CheckGpu({kFirst, "a GPU"}, false, milliseconds(200));
  EXPECT_EQ(facts.problem, "its checks did not end within 200ms");
  EXPECT_EQ(facts.words, 0);
}

// The group has failed: the caller need not wait for its patience.
TEST_F(GpuCheckTest, LeavesAGpuThatHangsWhenItIsStopped) {
  setenv("STANDIN_GPU_FAULT", "hang", 1);
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));
  EXPECT_NE(CheckGpu({kFirst, "a GPU"}, false, hours(1), stop.get()).problem, "");
}

TEST_F(GpuCheckTest, NamesTheProcessThatHasTheMemory) {
  setenv("STANDIN_GPU_USER", std::to_string(getppid()).c_str(), 1);
  const std::string taken =
      fmt::format("its memory is taken by {} (process {}, 3.0 GiB): ", ProcessName(getppid()), getppid());
  for (const auto& [fault, reason] :
       {std::pair("taken", "the GPU has no free memory"),
        std::pair("full", "the GPU's driver cannot allocate memory: an error of the stand-in (error 2)"),
        std::pair("context", "the GPU's driver cannot make a context: an error of the stand-in (error 2)")}) {
    setenv("STANDIN_GPU_FAULT", fault, 1);
    const GpuFacts facts = Check();
    EXPECT_EQ(facts.problem, taken + reason);
    EXPECT_TRUE(facts.memory_taken) << fault;
  }
}

TEST_F(GpuCheckTest, TheMemoryIsTakenByAProcessThatNvmlDoesNotList) {
  setenv("STANDIN_GPU_FAULT", "taken", 1);
  EXPECT_EQ(Check().problem, "its memory is taken: the GPU has no free memory");
  setenv("STANDIN_GPU_FAULT", "launch", 1);
  EXPECT_FALSE(Check().memory_taken);
}

TEST_F(GpuCheckTest, NamesAGpuThatIsNotThere) {
  EXPECT_EQ(CheckGpu({kSecond, "a GPU"}, false, seconds(60)).problem,
            "the GPU's driver does not list GPU-01000000-0000-0000-0000-000000000001");
  setenv("STANDIN_GPUS", "2", 1);
  EXPECT_EQ(CheckGpu({kSecond, "a GPU"}, false, seconds(60)).problem, "");
}

TEST_F(GpuCheckTest, ReadsTheCountedMemoryErrors) {
  setenv("STANDIN_GPU_ERRORS", "7 2 1 0", 1);
  EXPECT_EQ(Check().errors, (GpuMemoryErrors{7, 2, true, false}));
  setenv("STANDIN_GPU_ERRORS", "0 0 0 1", 1);
  EXPECT_EQ(Check().errors, (GpuMemoryErrors{0, 0, false, true}));
}

TEST_F(GpuCheckTest, TheDriverRefusesATextThatIsNoKernel) {
  const auto driver = GpuDriver::Open(kFirst, "no kernel");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, Code::kSystem);
  EXPECT_THAT(driver.error().message, HasSubstr("cannot compile the kernels: not known: no kernel"));
}

TEST_F(GpuCheckTest, AnUnknownKernelIsAnError) {
  const auto driver = GpuDriver::Open(kFirst, kKernels);
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ((*driver)->pci(), "0000:01:00.0");
  EXPECT_EQ((*driver)->processors(), 1);
  const auto ran = (*driver)->Run("nothing", {}, {});
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("cannot find a kernel"));
}

}  // namespace
}  // namespace muster::check
