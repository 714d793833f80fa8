#include "comm/socket/transport/call_history.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

Call CallNumber(uint64_t sequence, Operation operation = Operation::kBarrier) {
  Call call;
  call.communicator = 1;
  call.sequence = sequence;
  call.operation = operation;
  return call;
}

class CallHistoryTest : public testing::Test {
 protected:
  CallHistory history_;
};

TEST_F(CallHistoryTest, KnowsTheCurrentCallAndThePeersItWaitsFor) {
  EXPECT_EQ(history_.Begin(CallNumber(1)), std::nullopt);
  EXPECT_EQ(history_.Ask(3, CallNumber(1)), std::nullopt);
  EXPECT_EQ(history_.Look().waiting_for, std::vector<int>());
  history_.Waiting({5, 7});
  EXPECT_EQ(history_.Look().waiting_for, (std::vector<int>{5, 7}));
  const std::vector<int> many = {1, 2, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  history_.Waiting(many);
  EXPECT_EQ(history_.Look().waiting_for, many);
  history_.End();
  EXPECT_EQ(history_.Look().waiting_for, std::vector<int>());
  EXPECT_EQ(history_.Ask(3, CallNumber(1)), std::nullopt);
}

TEST_F(CallHistoryTest, FindsADisagreementNowAndLater) {
  history_.Begin(CallNumber(1));
  const Mismatch mismatch{3, CallNumber(1, Operation::kSplit), CallNumber(1)};
  EXPECT_EQ(history_.Ask(3, mismatch.theirs), mismatch);
  history_.End();
  history_.Begin(CallNumber(2));
  EXPECT_EQ(history_.Ask(3, mismatch.theirs), mismatch);
}

TEST_F(CallHistoryTest, RemembersWhoAskedTooEarly) {
  EXPECT_EQ(history_.Ask(3, CallNumber(2, Operation::kSplit)), std::nullopt);
  EXPECT_EQ(history_.Ask(4, CallNumber(2)), std::nullopt);
  EXPECT_EQ(history_.Begin(CallNumber(1)), std::nullopt);
  history_.End();
  EXPECT_EQ(history_.Begin(CallNumber(2)), (Mismatch{3, CallNumber(2, Operation::kSplit), CallNumber(2)}));
}

// The root checks once which ranks wait, as soon as one reports a long wait.
TEST_F(CallHistoryTest, NeverCallsAWaitShorterThanItWas) {
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  for (uint64_t sequence = 1; Clock::now() < end; ++sequence) {
    history_.Begin(CallNumber(sequence));
    const auto begun = Clock::now();
    while (Clock::now() < begun + std::chrono::milliseconds(1)) {
    }
    EXPECT_GE(history_.Look().milliseconds, 1U);
    history_.End();
  }
}

TEST_F(CallHistoryTest, ForgetsAfterAWhile) {
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) history_.Begin(CallNumber(sequence));
  EXPECT_EQ(history_.Ask(3, CallNumber(1, Operation::kSplit)), std::nullopt);
  EXPECT_NE(history_.Ask(3, CallNumber(50, Operation::kSplit)), std::nullopt);
}

}  // namespace
}  // namespace muster::socket
