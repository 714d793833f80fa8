#include "comm/nccl/communicator/settle.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "comm/base/unique_fd.h"
#include "tests/comm/nccl/computing_nccl.h"

namespace muster::nccl {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::milliseconds(20)); }
Deadline Late() { return Deadline::After(std::chrono::minutes(1)); }

TEST(Settle, AsksUntilItIsDone) {
  int asked = 0;
  const auto ask = [&] { return ++asked < 30 ? NcclResult::kInProgress : NcclResult::kRemoteError; };
  EXPECT_EQ(Settle(ask, Late(), -1), NcclResult::kRemoteError);
  EXPECT_EQ(asked, 30);
}

TEST(Settle, EndsAtTheDeadline) {
  const auto never = [] { return NcclResult::kInProgress; };
  EXPECT_EQ(Settle(never, Soon(), -1), NcclResult::kInProgress);
}

TEST(Settle, EndsWhenItIsToldTo) {
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));
  const auto never = [] { return NcclResult::kInProgress; };
  EXPECT_EQ(Settle(never, Late(), stop.get()), NcclResult::kInProgress);
}

TEST(ExplainNccl, AddsTheLastError) {
  const auto fabric = std::make_shared<FakeFabric>();
  const ComputingNccl nccl(fabric);
  EXPECT_EQ(ExplainNccl(nccl, NcclResult::kSystemError), "unhandled system error");
  fabric->draws_no_id[0] = "no socket";
  EXPECT_EQ(ExplainNccl(nccl, NcclResult::kSystemError), "unhandled system error: no socket");
}

}  // namespace
}  // namespace muster::nccl
