#include "comm/ops/group_failure.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/comm/group/in_barrier.h"
#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

Call CallOf(Operation operation) {
  Call call;
  call.communicator = kWorldCommunicator;
  call.sequence = 1;
  call.operation = operation;
  return call;
}

class AskWhoIsMissingTest : public testing::Test {
 protected:
  AskWhoIsMissingTest() : state_(socket::MakeRoster({0, 1})), waiting_(state_, 0), late_(state_, 1) {
    waiting_.activity().Add(in_barrier_);
  }
  ~AskWhoIsMissingTest() override { waiting_.activity().Remove(in_barrier_.get()); }

  const std::shared_ptr<const ActivitySource> in_barrier_ = std::make_shared<InBarrier>();
  socket::FakeGroupState state_;
  socket::FakeGroup waiting_;
  socket::FakeGroup late_;
};

TEST_F(AskWhoIsMissingTest, NamesThemInACollective) {
  EXPECT_EQ(AskForMissingRanks(waiting_, CallOf(Operation::kBarrier), 0),
            "rank 1 (gpu02), not seen in any operation so far");
  EXPECT_EQ(AskForMissingRanks(waiting_, CallOf(Operation::kRecv), 0), "");
}

TEST_F(AskWhoIsMissingTest, LaterRanksTakeTheFailureThatTheFirstOnesFind) {
  const Error failure{Code::kDeadline, "Barrier #1 did not finish", ""};
  waiting_.Fail(failure);
  EXPECT_EQ(AskForMissingRanks(waiting_, CallOf(Operation::kBarrier), 4), "");
  EXPECT_EQ(FailGroup(waiting_, {Code::kDeadline, "another one", ""}), failure);
}

}  // namespace
}  // namespace muster
