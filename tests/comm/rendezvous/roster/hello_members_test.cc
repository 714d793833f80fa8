#include "comm/rendezvous/roster/hello_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ProcessInfo Process(int pid, int rank) {
  ProcessInfo info;
  info.node = "gpu02";
  info.pid = pid;
  info.claims = {{rank, rank, 3, {}}};
  return info;
}

std::vector<int> PidsOf(const std::vector<ProcessInfo>& members) {
  std::vector<int> pids;
  for (const ProcessInfo& member : members) pids.push_back(member.pid);
  return pids;
}

TEST(HelloMembers, EachProcessGoesUpOnce) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(10, 11));
  EXPECT_THAT(members.TakeUnsent(), IsEmpty());
  members.Add(2, {{}, {Process(12, 2)}});
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(12));
}

TEST(HelloMembers, AnotherProcessAboveReceivesAllAndTheLostLeaderFirst) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.TakeUnsent();
  members.SetLostLeader(Process(9, 2));
  members.SetLostLeader(Process(8, 2));
  members.SendAllAgain();
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(9, 10, 11));
}

TEST(HelloMembers, AForgottenProcessNeverGoesUp) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{}, {Process(12, 2)}});
  members.TakeUnsent();
  EXPECT_EQ(members.Forget(1), 1);
  EXPECT_THAT(members.TakeUnsent(), IsEmpty());
  members.SendAllAgain();
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(10, 12));
}

TEST(HelloMembers, RankZeroIsThisProcessOrOneBelow) {
  const ProcessInfo self = Process(10, 1);
  HelloMembers members(self);
  EXPECT_FALSE(members.HasRankZero());
  members.Add(1, {{}, {Process(11, 0)}});
  EXPECT_TRUE(members.HasRankZero());
}

// The simulation found it: the second hello was on the way to the root when the group formed, and the second process got the
// roster like the first.
TEST(HelloMembers, TheSecondOfTwoClaimsIsTheProcessThatCameLater) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{}, {Process(12, 2)}});
  members.Add(3, {{}, {Process(13, 1)}});
  members.Add(4, {{}, {Process(14, 0)}});
  EXPECT_FALSE(members.FindSecondClaim(1));
  EXPECT_FALSE(members.FindSecondClaim(2));
  ASSERT_TRUE(members.FindSecondClaim(3));
  EXPECT_EQ(members.FindSecondClaim(3)->code, Code::kDisagreement);
  EXPECT_EQ(members.FindSecondClaim(3)->message,
            "rank 1 is claimed twice: by pid 11 on gpu02 and by pid 13 on gpu02");
  EXPECT_TRUE(members.FindSecondClaim(4));
}

}  // namespace
}  // namespace muster::rendezvous
