// Real ids of the real NCCL, over the control plane of a real group.
#include <gtest/gtest.h>

#include <future>

#include "comm/nccl/libraries/libraries.h"
#include "comm/nccl/unique_ids/unique_ids.h"
#include "comm/rendezvous/control/join.h"
#include "tests/comm/nccl/real_files.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::nccl {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::minutes(1)); }

// As one process would: joins, gets the ids, leaves.
Result<std::vector<NcclId>> JoinForIds(const rendezvous::JoinRequest& request, NcclApi& nccl) {
  MUSTER_TRY(const std::unique_ptr<Group> group, rendezvous::JoinGroup(request));
  MUSTER_TRY(NcclTerms terms, ExchangeNcclIds(*group, nccl, "nccl ids", Soon()));
  MUSTER_CHECK(group->Leave(Soon()));
  return terms.ids;
}

TEST(GroupIds, EveryRankGetsTheIdThatRankZeroHasDrawn) {
  auto nccl = LoadNccl({RealFiles("libnccl.so."), {}});
  ASSERT_TRUE(nccl) << ToString(nccl.error());
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "a", "b", "b", "c"});
  std::vector<std::future<Result<std::vector<NcclId>>>> running;
  for (const rendezvous::JoinRequest& request : requests) {
    running.push_back(std::async(std::launch::async, [&] { return JoinForIds(request, **nccl); }));
  }
  std::vector<NcclId> first;
  for (auto& future : running) {
    const auto ids = future.get();
    ASSERT_TRUE(ids) << ids.error().message;
    ASSERT_EQ(ids->size(), 1u);
    EXPECT_NE(ids->front(), NcclId{});
    if (first.empty()) first = *ids;
    EXPECT_EQ(*ids, first);
  }
}

}  // namespace
}  // namespace muster::nccl
