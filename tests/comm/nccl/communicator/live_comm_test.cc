#include "comm/nccl/communicator/live_comm.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/comm/nccl/computing_nccl.h"

namespace muster::nccl {
namespace {

NcclResult Succeed(NcclComm) { return NcclResult::kSuccess; }

class LiveCommTest : public testing::Test {
 protected:
  NcclResult Make() {
    return live_.Make([this](NcclComm* slot) {
      std::vector<NcclId> ids(1);
      return nccl_->Init(slot, 1, 0, ids);
    });
  }

  const std::shared_ptr<FakeFabric> fabric_ = std::make_shared<FakeFabric>();
  const std::shared_ptr<ComputingNccl> nccl_ = std::make_shared<ComputingNccl>(fabric_);
  LiveComm live_{nccl_, std::make_shared<ComputingCuda>(), 0, 1};
};

TEST_F(LiveCommTest, IsTakenOnce) {
  ASSERT_EQ(Make(), NcclResult::kSuccess);
  EXPECT_EQ(live_.Call(Succeed), NcclResult::kSuccess);
  EXPECT_EQ(live_.State(), NcclResult::kSuccess);
  EXPECT_NE(live_.Take(), nullptr);
  EXPECT_EQ(live_.Take(), nullptr);
  EXPECT_EQ(live_.Call(Succeed), NcclResult::kInvalidUsage);
  EXPECT_EQ(live_.State(), NcclResult::kInProgress);
  EXPECT_TRUE(live_.begun());
}

TEST_F(LiveCommTest, IsInProgressUntilItIsMade) {
  EXPECT_FALSE(live_.begun());
  EXPECT_EQ(live_.State(), NcclResult::kInProgress);
}

TEST_F(LiveCommTest, ItsMakingEndsWhenItIsAborted) {
  fabric_->never_through = {0};
  std::thread taker([this] {
    while (!live_.begun()) std::this_thread::yield();
    EXPECT_EQ(nccl_->GroupStart(), NcclResult::kSuccess);
    EXPECT_EQ(nccl_->Abort(live_.Take()), NcclResult::kSuccess);
    live_.AwaitCall();
    EXPECT_EQ(nccl_->GroupEnd(), NcclResult::kSuccess);
  });
  EXPECT_EQ(Make(), NcclResult::kInvalidUsage);
  taker.join();
  EXPECT_EQ(fabric_->misuses, 0);
}

// Neither waits for it: an abort ends it.
TEST_F(LiveCommTest, ItsStateAndItselfAreHadDuringACall) {
  ASSERT_EQ(Make(), NcclResult::kSuccess);
  std::promise<void> begun, end;
  std::thread caller([&] {
    live_.Call([&](NcclComm) {
      begun.set_value();
      end.get_future().wait();
      return NcclResult::kSuccess;
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(live_.State(), NcclResult::kSuccess);
  EXPECT_FALSE(live_.HoldCalls());
  EXPECT_NE(live_.Take(), nullptr);
  end.set_value();
  live_.AwaitCall();
  EXPECT_TRUE(live_.HoldCalls());
  caller.join();
}

TEST_F(LiveCommTest, IsAbortedIfItIsMadeTooLate) {
  EXPECT_EQ(live_.Take(), nullptr);
  EXPECT_EQ(Make(), NcclResult::kInvalidUsage);
  EXPECT_EQ(fabric_->living, 0);
}

}  // namespace
}  // namespace muster::nccl
