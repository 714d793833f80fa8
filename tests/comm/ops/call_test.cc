#include "comm/ops/call.h"

#include <gtest/gtest.h>

#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

Call MakeCall(Operation operation, uint64_t sequence, DataType type = DataType::kU8, uint64_t count = 0) {
  Call call;
  call.communicator = 1;
  call.sequence = sequence;
  call.operation = operation;
  call.type = type;
  call.count = count;
  return call;
}

TEST(Describe, ShowsWhatTellsCallsApart) {
  EXPECT_EQ(Describe(MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1024)), "AllReduce #42 f32[1024]");
  EXPECT_EQ(Describe(MakeCall(Operation::kBarrier, 42)), "Barrier #42");
  EXPECT_EQ(Describe(MakeCall(Operation::kAllGatherBytes, 7)), "AllGatherBytes #7");
  EXPECT_EQ(Describe(MakeCall(Operation::kSend, 1, DataType::kBF16, 3)), "Send #1 bf16[3]");
}

TEST(Match, TakesTheSameCallAndTheSendForARecv) {
  const Call call = MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1024);
  EXPECT_TRUE(Match(call, call));
  for (const Call& other : {MakeCall(Operation::kReduce, 42, DataType::kF32, 1024),
                            MakeCall(Operation::kAllReduce, 43, DataType::kF32, 1024),
                            MakeCall(Operation::kAllReduce, 42, DataType::kF64, 1024),
                            MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1023)}) {
    EXPECT_FALSE(Match(call, other)) << Describe(other);
  }
  const Call recv = MakeCall(Operation::kRecv, 3, DataType::kI32, 5);
  EXPECT_TRUE(Match(recv, MakeCall(Operation::kSend, 3, DataType::kI32, 5)));
  EXPECT_FALSE(Match(recv, MakeCall(Operation::kSend, 4, DataType::kI32, 5)));
  EXPECT_FALSE(Match(recv, recv));
}

TEST(Disagreement, NamesBothSidesTheLowerRankFirst) {
  const Roster roster = socket::MakeRoster(socket::BlockLayout({4, 4}));
  const Call reduce = MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1024);
  const Call barrier = MakeCall(Operation::kBarrier, 42);
  const Error error = Disagreement(roster, 5, barrier, 3, reduce);
  EXPECT_EQ(error.code, Code::kDisagreement);
  EXPECT_EQ(error.message, "rank 3 on gpu01 is in AllReduce #42 f32[1024], rank 5 on gpu02 in Barrier #42");
  EXPECT_EQ(error.hint, "make the same calls in the same order on all ranks");
  EXPECT_EQ(Disagreement(roster, 3, reduce, 5, barrier), error);
}

TEST(Disagreement, ShowsRootAndReductionWhereOnlyTheyDiffer) {
  const Roster roster = socket::MakeRoster(socket::BlockLayout({2}));
  Call one = MakeCall(Operation::kReduce, 2, DataType::kI32, 4);
  Call other = one;
  one.root = 0;
  other.root = 1;
  other.reduce = ReduceOp::kMax;
  EXPECT_EQ(
      Disagreement(roster, 0, one, 1, other).message,
      "rank 0 on gpu01 is in Reduce #2 i32[4] sum root 0, rank 1 on gpu01 in Reduce #2 i32[4] max root 1");
}

TEST(Disagreement, OfAnEarlierCallNamesTheRanksAndTheCallThatFoundIt) {
  const Error error = EarlierDisagreement(socket::MakeRoster(socket::BlockLayout({4, 4})), 3, 5,
                                          MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1024));
  EXPECT_EQ(error.code, Code::kDisagreement);
  EXPECT_EQ(error.message,
            "rank 3 on gpu01 and rank 5 on gpu02 made different calls before AllReduce #42 f32[1024]");
  EXPECT_EQ(error.hint, "make the same calls in the same order on all ranks");
}

TEST(NoMemory, NamesTheRankAndTheCall) {
  const Error error = NoMemory(socket::MakeRoster(socket::BlockLayout({2})), 1,
                               MakeCall(Operation::kAllReduce, 42, DataType::kF32, 1024));
  EXPECT_EQ(error, (Error{Code::kSystem, "rank 1 on gpu01 has no memory for AllReduce #42 f32[1024]",
                          "start fewer ranks on a node, or request more memory: --mem"}));
}

}  // namespace
}  // namespace muster
