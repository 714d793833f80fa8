#include "comm/socket/single.h"

#include <gtest/gtest.h>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

class SingleTest : public testing::Test {
 protected:
  const std::unique_ptr<Communicator> world_ = MakeSingleCommunicator(MakeRoster({0}));
  std::vector<int32_t> send_ = {1, 2, 3};
  std::vector<int32_t> receive_ = {0, 0, 0};
  const Buffer from_ = HostBuffer(std::span(send_));
  const Buffer to_ = HostBuffer(std::span(receive_));

  void ExpectReceived(const Status& status) {
    EXPECT_EQ(MessageOf(status), "");
    EXPECT_EQ(receive_, send_);
    receive_.assign(3, 0);
  }
};

TEST_F(SingleTest, ReceivesWhatItSends) {
  EXPECT_EQ(world_->rank(), 0);
  EXPECT_EQ(world_->size(), 1);
  EXPECT_EQ(world_->node(), "gpu01");
  EXPECT_TRUE(world_->Barrier());
  EXPECT_TRUE(world_->Broadcast(from_, 0));
  ExpectReceived(world_->Reduce(from_, to_, ReduceOp::kSum, 0));
  ExpectReceived(world_->AllReduce(from_, to_, ReduceOp::kAvg));
  ExpectReceived(world_->Gather(from_, to_, 0));
  ExpectReceived(world_->AllGather(from_, to_));
  ExpectReceived(world_->Scatter(from_, to_, 0));
  ExpectReceived(world_->ReduceScatter(from_, to_, ReduceOp::kMax));
  ExpectReceived(world_->AllToAll(from_, to_));
  const Bytes bytes = {4, 5};
  EXPECT_EQ(*world_->GatherBytes(bytes, 0), std::vector<Bytes>{bytes});
  EXPECT_EQ(*world_->AllGatherBytes(bytes), std::vector<Bytes>{bytes});
  EXPECT_EQ(*world_->BroadcastBytes(bytes, 0), bytes);
  EXPECT_EQ((*world_->Split(3, 0))->size(), 1);
  EXPECT_EQ(*world_->Split(-1, 0), nullptr);
}

TEST_F(SingleTest, HasNobodyElse) {
  EXPECT_EQ(world_->Send(from_, 0).error().message, "Send: rank 0 is this rank itself");
  EXPECT_EQ(world_->Recv(to_, 1).error().message, "Recv: rank 1 is not one of the 1 ranks 0-0");
  EXPECT_EQ(world_->Broadcast(from_, 1).error().code, Code::kUsage);
}

}  // namespace
}  // namespace muster::socket
