#include "comm/socket/shm/call_words.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

TEST(CallWords, CarryEverythingButTheCommunicator) {
  const Call call{7, 42, Operation::kReduce, DataType::kBF16, ReduceOp::kMax, 3, uint64_t{1} << 40};
  const auto read = UnpackCall(PackCall(call), 7);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, call);
  Call rootless = call;
  rootless.root = -1;
  EXPECT_EQ(UnpackCall(PackCall(rootless), 7), rootless);
  EXPECT_NE(PackCall(rootless), PackCall(call));
}

TEST(CallWords, RefuseWhatNobodyWrites) {
  const CallWords good = PackCall({});
  for (const uint64_t bad :
       {uint64_t{kOperationCount}, uint64_t{9} << 8, uint64_t{5} << 16, uint64_t{1} << 24}) {
    EXPECT_FALSE(UnpackCall({good[0], bad, good[2]}, 0)) << bad;
  }
}

}  // namespace
}  // namespace muster::socket
