#include "bootstrap/join/rank_block.h"

#include <gtest/gtest.h>

namespace muster::join {
namespace {

rendezvous::JoinRequest OfSecondNodeOfThree() {
  rendezvous::JoinRequest request;
  request.self.node = "gpu02";
  request.self.agreement.world_size = 3;
  request.self.claims = {{1, 0, 1, Bytes{7}}};
  request.meeting.job_key = "slurm uid=1 job=4 step=0 size=3";
  request.meeting.placement = {{{"gpu01", 1}, {"gpu02", 1}, {"gpu03", 1}}, {0, 1, 2}};
  return request;
}

TEST(RankBlock, ClaimsTheRanksOfItsNode) {
  rendezvous::JoinRequest request = OfSecondNodeOfThree();
  ExpandToBlock({1, 3, 4}, request);
  EXPECT_EQ(request.self.agreement.world_size, 12);
  EXPECT_EQ(request.self.claims, (std::vector<rendezvous::RankClaim>{
                                     {4, 0, 4, Bytes{7}}, {5, 1, 4, {}}, {6, 2, 4, {}}, {7, 3, 4, {}}}));
}

TEST(RankBlock, NamesItsSizeInTheJobKey) {
  rendezvous::JoinRequest request = OfSecondNodeOfThree();
  ExpandToBlock({1, 3, 4}, request);
  EXPECT_EQ(request.meeting.job_key, "slurm uid=1 job=4 step=0 size=3 per-node=4");
  EXPECT_EQ(request.self.agreement.job_key, request.meeting.job_key);
}

TEST(RankBlock, KnowsWhereTheOthersAre) {
  rendezvous::JoinRequest request = OfSecondNodeOfThree();
  ExpandToBlock({1, 3, 2}, request);
  EXPECT_EQ(request.meeting.placement,
            (Placement{{{"gpu01", 2}, {"gpu02", 2}, {"gpu03", 2}}, {0, 0, 1, 1, 2, 2}}));
}

}  // namespace
}  // namespace muster::join
