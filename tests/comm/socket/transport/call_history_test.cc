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
  Standing Ask(int from, const Call& call) { return history_.Ask(from, call, mismatch_); }

  CallHistory history_;
  std::optional<Mismatch> mismatch_;
};

TEST_F(CallHistoryTest, KnowsTheCurrentCallAndThePeersItWaitsFor) {
  EXPECT_EQ(history_.Begin(CallNumber(1)), std::nullopt);
  EXPECT_EQ(Ask(3, CallNumber(1)), Standing::kSame);
  EXPECT_EQ(history_.Look().waiting_for, std::vector<int>());
  history_.Waiting({5, 7});
  EXPECT_EQ(history_.Look().waiting_for, (std::vector<int>{5, 7}));
  history_.End();
  EXPECT_EQ(history_.Look().waiting_for, std::vector<int>());
  EXPECT_EQ(Ask(3, CallNumber(1)), Standing::kElsewhere);
  EXPECT_EQ(mismatch_, std::nullopt);
}

TEST_F(CallHistoryTest, FindsADisagreementNowAndLater) {
  history_.Begin(CallNumber(1));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)), Standing::kDisagrees);
  EXPECT_EQ(mismatch_, (Mismatch{3, CallNumber(1, Operation::kSplit), CallNumber(1)}));
  mismatch_.reset();
  history_.End();
  history_.Begin(CallNumber(2));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)), Standing::kDisagrees);
  EXPECT_EQ(mismatch_, (Mismatch{3, CallNumber(1, Operation::kSplit), CallNumber(1)}));
}

TEST_F(CallHistoryTest, RemembersWhoAskedTooEarly) {
  EXPECT_EQ(Ask(3, CallNumber(2, Operation::kSplit)), Standing::kElsewhere);
  EXPECT_EQ(Ask(4, CallNumber(2)), Standing::kElsewhere);
  EXPECT_EQ(history_.Begin(CallNumber(1)), std::nullopt);
  history_.End();
  EXPECT_EQ(history_.Begin(CallNumber(2)), (Mismatch{3, CallNumber(2, Operation::kSplit), CallNumber(2)}));
}

TEST_F(CallHistoryTest, ForgetsAfterAWhile) {
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) history_.Begin(CallNumber(sequence));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)), Standing::kElsewhere);
  EXPECT_EQ(mismatch_, std::nullopt);
  EXPECT_EQ(Ask(3, CallNumber(50, Operation::kSplit)), Standing::kDisagrees);
}

}  // namespace
}  // namespace muster::socket
