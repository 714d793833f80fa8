#include "comm/rendezvous/control/group_answers.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <future>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

const Error kLost{Code::kPeerLost, "rank 1 on n1 was lost", ""};
const std::vector<Bytes> kParts{{1}, {2, 3}};

class GroupAnswersTest : public testing::Test {
 protected:
  bool FailureIsReadable() const {
    uint64_t count = 0;
    return read(answers_.failure_fd(), &count, sizeof count) == sizeof count;
  }
  static Deadline Past() { return Deadline::After(Duration::zero()); }

  GroupAnswers answers_{UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
};

TEST_F(GroupAnswersTest, HaveNothingAtFirst) {
  EXPECT_FALSE(answers_.AwaitExchange("a", Past()));
  EXPECT_FALSE(answers_.AwaitRelease(Past()));
  EXPECT_FALSE(answers_.failure());
  EXPECT_FALSE(FailureIsReadable());
}

TEST_F(GroupAnswersTest, AnExchangeIsTakenOnce) {
  answers_.Put("a", kParts);
  EXPECT_FALSE(answers_.AwaitExchange("b", Past()));
  EXPECT_EQ(answers_.AwaitExchange("a", Deadline::Never()), kParts);
  EXPECT_FALSE(answers_.AwaitExchange("a", Past()));
}

TEST_F(GroupAnswersTest, ACompleteExchangeIsThereAfterAFailure) {
  answers_.Put("a", kParts);
  answers_.Fail(kLost);
  EXPECT_EQ(answers_.failure(), kLost);
  EXPECT_TRUE(FailureIsReadable());
  EXPECT_EQ(answers_.AwaitExchange("a", Deadline::Never()), kParts);
  EXPECT_EQ(answers_.AwaitExchange("a", Deadline::Never())->error(), kLost);
}

TEST_F(GroupAnswersTest, OfFailureAndReleaseTheFirstCounts) {
  answers_.Fail(kLost);
  answers_.Release();
  EXPECT_EQ(answers_.AwaitRelease(Deadline::Never())->error(), kLost);
  GroupAnswers released{UniqueFd(eventfd(0, EFD_CLOEXEC))};
  released.Release();
  released.Fail(kLost);
  EXPECT_TRUE(*released.AwaitRelease(Deadline::Never()));
  EXPECT_EQ(released.failure(), kLost);
}

TEST_F(GroupAnswersTest, EachEventEndsAWait) {
  auto exchange =
      std::async(std::launch::async, [this] { return answers_.AwaitExchange("a", Deadline::Never()); });
  auto release = std::async(std::launch::async, [this] { return answers_.AwaitRelease(Deadline::Never()); });
  answers_.Put("a", kParts);
  EXPECT_EQ(exchange.get(), kParts);
  auto failed =
      std::async(std::launch::async, [this] { return answers_.AwaitExchange("b", Deadline::Never()); });
  answers_.Fail(kLost);
  EXPECT_EQ(release.get()->error(), kLost);
  EXPECT_EQ(failed.get()->error(), kLost);
}

}  // namespace
}  // namespace muster::rendezvous
