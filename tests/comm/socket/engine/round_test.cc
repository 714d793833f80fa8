#include "comm/socket/engine/round.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

IncomingMessage Into(Bytes& bytes) {
  IncomingMessage message;
  message.into = bytes;
  return message;
}

TEST(RoundTest, OnePeerHasOneStream) {
  Bytes bytes(8);
  Round round;
  EXPECT_TRUE(round.done());
  round.Queue(3, Into(bytes));
  round.Queue(1, Into(bytes));
  round.Queue(3, Into(bytes));
  ASSERT_EQ(round.streams().size(), 2U);
  EXPECT_EQ(round.streams()[0].rank(), 3);
  EXPECT_EQ(round.streams()[1].rank(), 1);
  EXPECT_FALSE(round.done());
  EXPECT_TRUE(round.LacksConnection());
  EXPECT_EQ(round.UnfinishedPeers(), (std::vector<int>{3, 1}));
}

TEST(RoundTest, ClearedItHasNothingOfTheRoundBefore) {
  Bytes bytes(8);
  Round round;
  round.Queue(3, Into(bytes));
  round.Clear();
  EXPECT_TRUE(round.done());
  EXPECT_FALSE(round.LacksConnection());
  round.Queue(2, Into(bytes));
  EXPECT_EQ(round.UnfinishedPeers(), (std::vector<int>{2}));
}

TEST(RoundTest, ScratchIsThereForArithmeticAlone) {
  Bytes bytes(8);
  Round round;
  EXPECT_EQ(*round.QueueObserved(1, Into(bytes)), 0U);
  EXPECT_TRUE(round.scratch().empty());
  IncomingMessage message;
  message.combine = Combining{DataType::kF32, ReduceOp::kSum, bytes.data(), bytes.data(), 8, true};
  round.QueueObserved(1, message);
  EXPECT_EQ(round.scratch().size(), size_t{64} * 1024);
}

// The address that a send follows must not change when further receives are queued.
TEST(RoundTest, ObservedCountsStayWhereTheyAre) {
  Bytes bytes(8);
  Round round;
  const ArrivedBytes* const first = round.QueueObserved(1, Into(bytes));
  std::vector<const ArrivedBytes*> all;
  for (int i = 0; i < 1000; ++i) all.push_back(round.QueueObserved(i % 7, Into(bytes)));
  EXPECT_EQ(*first, 0U);
  for (const ArrivedBytes* other : all) EXPECT_NE(other, first);
}

}  // namespace
}  // namespace muster::socket
