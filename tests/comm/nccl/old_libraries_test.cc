// A library that is too old is refused by its version, before anything of it is used. Apart from
// real_libraries_test.cc: what a process has loaded once is found again whatever is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/nccl/libraries/libraries.h"

namespace muster::nccl {
namespace {

using testing::EndsWith;

// tests/comm/system/shared_library_test.cc describes it.
const std::string kOld = std::getenv("OLD_LIBRARY");

TEST(OldLibraries, NcclIsRefused) {
  const auto nccl = LoadNccl({{kOld}, {}});
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, Code::kConfiguration);
  EXPECT_THAT(nccl.error().message, EndsWith(kOld + " is NCCL 2.10.5"));
  EXPECT_EQ(nccl.error().hint, "install NCCL 2.22 or newer, of the same major version");
}

TEST(OldLibraries, CudaIsRefused) {
  const auto cuda = LoadCuda({{kOld}, {}});
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, Code::kConfiguration);
  EXPECT_THAT(cuda.error().message, EndsWith(kOld + " is the runtime of CUDA 10.2"));
  EXPECT_EQ(cuda.error().hint, "install CUDA 11.4 or newer");
}

}  // namespace
}  // namespace muster::nccl
