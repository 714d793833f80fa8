#include "comm/socket/transport/ledger.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Call CallNumber(uint64_t sequence, Operation operation = Operation::kBarrier) {
  Call call;
  call.communicator = 1;
  call.sequence = sequence;
  call.operation = operation;
  return call;
}

class LedgerTest : public testing::Test {
 protected:
  Answer Ask(int from, const Call& call) { return ledger_.Ask(from, call, mismatch_); }

  Ledger ledger_;
  std::optional<Mismatch> mismatch_;
};

TEST_F(LedgerTest, SaysWhomItWaitsForInTheSameCall) {
  EXPECT_EQ(ledger_.Begin(CallNumber(1)), std::nullopt);
  EXPECT_EQ(Ask(3, CallNumber(1)), (Answer{Standing::kSame, {}}));
  ledger_.Waiting({5, 7});
  EXPECT_EQ(Ask(3, CallNumber(1)), (Answer{Standing::kSame, {5, 7}}));
  ledger_.End();
  EXPECT_EQ(Ask(3, CallNumber(1)), Answer());
  EXPECT_EQ(mismatch_, std::nullopt);
}

TEST_F(LedgerTest, FindsADisagreementNowAndLater) {
  ledger_.Begin(CallNumber(1));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)).standing, Standing::kDisagrees);
  EXPECT_EQ(mismatch_, (Mismatch{3, CallNumber(1, Operation::kSplit), CallNumber(1)}));
  mismatch_.reset();
  ledger_.End();
  ledger_.Begin(CallNumber(2));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)).standing, Standing::kDisagrees);
  EXPECT_EQ(mismatch_, (Mismatch{3, CallNumber(1, Operation::kSplit), CallNumber(1)}));
}

TEST_F(LedgerTest, RemembersWhoAskedTooEarly) {
  EXPECT_EQ(Ask(3, CallNumber(2, Operation::kSplit)), Answer());
  EXPECT_EQ(Ask(4, CallNumber(2)), Answer());
  EXPECT_EQ(ledger_.Begin(CallNumber(1)), std::nullopt);
  ledger_.End();
  EXPECT_EQ(ledger_.Begin(CallNumber(2)), (Mismatch{3, CallNumber(2, Operation::kSplit), CallNumber(2)}));
}

TEST_F(LedgerTest, ForgetsAfterAWhile) {
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) ledger_.Begin(CallNumber(sequence));
  EXPECT_EQ(Ask(3, CallNumber(1, Operation::kSplit)), Answer());
  EXPECT_EQ(mismatch_, std::nullopt);
  EXPECT_EQ(Ask(3, CallNumber(50, Operation::kSplit)).standing, Standing::kDisagrees);
}

}  // namespace
}  // namespace muster
