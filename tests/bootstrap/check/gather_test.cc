#include "bootstrap/check/gather.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::check {
namespace {

TEST(LimitOf, IsThatOfThisProcess) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Result<Limit> files = LimitOf(RLIMIT_NOFILE, "open files");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->soft, limit.rlim_cur);
  EXPECT_EQ(files->hard, limit.rlim_max);
}

// It counted as unlimited.
TEST(LimitOf, WithoutAnAnswerOfTheKernelIsAnError) {
  const Result<Limit> none = LimitOf(static_cast<__rlimit_resource>(RLIM_NLIMITS), "nothing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), (Error{Code::kSystem, "cannot read the limit on nothing: Invalid argument",
                                 "allow prlimit64 in the seccomp profile of the container"}));
}

}  // namespace
}  // namespace muster::check
