#include <gtest/gtest.h>

#include "comm/nccl/libraries/libraries.h"
#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kHint =
    "run deploy/nccl/get, or set NCCL_HOME and CUDA_HOME, and build muster again; or set backend: socket";

TEST(LibrariesAbsent, SayWhatWasMissingAtBuildTimeAndHowToGetIt) {
  const auto nccl = LoadNccl({});
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error(), (Error{Code::kConfiguration,
                                 "this muster was built without the headers of NCCL, and so without NCCL",
                                 std::string(kHint)}));
  const auto cuda = LoadCuda({});
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error(),
            (Error{Code::kConfiguration,
                   "this muster was built without the headers of the CUDA runtime, and so without NCCL",
                   std::string(kHint)}));
}

}  // namespace
}  // namespace muster::nccl
