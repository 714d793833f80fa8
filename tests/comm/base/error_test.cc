#include "comm/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace muster {
namespace {

struct CodeCase {
  Code code;
  const char* name;
  int exit_status;
};

class CodeTest : public testing::TestWithParam<CodeCase> {};

TEST_P(CodeTest, HasItsNameAndExitStatus) {
  EXPECT_EQ(CodeName(GetParam().code), GetParam().name);
  EXPECT_EQ(ExitStatus(GetParam().code), GetParam().exit_status);
}

INSTANTIATE_TEST_SUITE_P(
    All, CodeTest,
    testing::Values(CodeCase{Code::kUsage, "usage", 64}, CodeCase{Code::kNotLaunched, "not_launched", 64},
                    CodeCase{Code::kBadEnvironment, "bad_environment", 65},
                    CodeCase{Code::kPeerLost, "peer_lost", 69}, CodeCase{Code::kInternal, "internal", 70},
                    CodeCase{Code::kSystem, "system", 71}, CodeCase{Code::kDeadline, "deadline", 75},
                    CodeCase{Code::kDisagreement, "disagreement", 76},
                    CodeCase{Code::kAuthentication, "authentication", 77},
                    CodeCase{Code::kConfiguration, "configuration", 78},
                    CodeCase{Code::kWorkFailed, "work_failed", 79}));

TEST(Error, IsOneSentenceAndAHint) {
  EXPECT_EQ(ToString(Error{Code::kSystem, "it broke", ""}), "it broke");
  EXPECT_EQ(ToString(Error{Code::kSystem, "it broke", "mend it"}), "it broke (mend it)");
}

TEST(Error, FailFormatsAndWithHintKeepsTheRest) {
  const Status failed = WithHint(Fail(Code::kUsage, "{} of {}", 3, "x"), "read the manual");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), (Error{Code::kUsage, "3 of x", "read the manual"}));
}

TEST(Error, ErrnoTextIsTheSystems) { EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory"); }

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(Code::kUsage, "{} is odd", number);
  return number / 2;
}
Result<int> Quarter(int number) {
  MUSTER_TRY(const int half, Half(number));
  MUSTER_TRY(const int quarter, Half(half));
  return quarter;
}
Status IsEven(int number) {
  MUSTER_CHECK(Half(number));
  return {};
}
Result<std::unique_ptr<int>> Boxed(int number) {
  MUSTER_TRY(auto box, Result<std::unique_ptr<int>>(std::make_unique<int>(number)));
  return box;
}

TEST(Error, TryAndCheckReturnTheFirstFailure) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).error().message, "7 is odd");
  EXPECT_EQ(Quarter(6).error().message, "3 is odd");
  EXPECT_TRUE(IsEven(2));
  EXPECT_EQ(IsEven(3).error().message, "3 is odd");
  EXPECT_EQ(**Boxed(5), 5);
}

}  // namespace
}  // namespace muster
