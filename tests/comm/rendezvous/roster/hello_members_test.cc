#include "comm/rendezvous/roster/hello_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ProcessInfo Process(int pid, int rank) {
  ProcessInfo info;
  info.node = "gpu02";
  info.pid = pid;
  info.claims = {{rank, rank, 3, {}}};
  return info;
}

std::vector<int> PidsOf(const std::vector<Hello>& hellos) {
  std::vector<int> pids;
  for (const Hello& hello : hellos) {
    for (const ProcessInfo& member : hello.members) pids.push_back(member.pid);
  }
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

TEST(HelloMembers, ProcessesOfOtherNodesGoUpWhenTheyMay) {
  const ProcessInfo self = Process(10, 0);
  ProcessInfo other = Process(12, 3);
  other.node = "gpu03";
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{"198.18.1.3"}, {other}});
  EXPECT_THAT(PidsOf(members.TakeUnsent(false)), ElementsAre(10, 11));
  EXPECT_THAT(members.TakeUnsent(false), IsEmpty());
  EXPECT_THAT(members.TakeUnsent(), ElementsAre(Hello{{"198.18.1.3"}, {other}}));
}

TEST(HelloMembers, AForgottenProcessNeverGoesUp) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{}, {Process(12, 2)}});
  members.TakeUnsent();
  EXPECT_THAT(members.Forget(1), SizeIs(1));
  EXPECT_THAT(members.TakeUnsent(), IsEmpty());
  members.SendAllAgain();
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(10, 12));
}

TEST(HelloMembers, AnotherOneGoesUpAfterOneThatHasGoneUpIsForgotten) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.TakeUnsent();
  members.Add(2, {{}, {Process(12, 2)}});
  members.Forget(1);
  EXPECT_THAT(PidsOf(members.TakeUnsent()), ElementsAre(12));
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
TEST(HelloMembers, AProcessWhoseRankAnotherHasInTheRosterIsTheSecond) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{}, {Process(12, 2)}});
  members.Add(3, {{}, {Process(13, 1)}});
  members.Add(4, {{}, {Process(14, 0)}});
  ProcessInfo elsewhere = Process(12, 2);
  elsewhere.node = "gpu03";
  members.Add(5, {{}, {elsewhere}});
  Roster roster;
  roster.nodes = {{"gpu02", {}}};
  for (const int pid : {10, 11, 12}) roster.members.push_back({0, pid - 10, pid, {}});
  EXPECT_FALSE(members.FindSecondClaim(1, roster));
  EXPECT_FALSE(members.FindSecondClaim(2, roster));
  ASSERT_TRUE(members.FindSecondClaim(3, roster));
  EXPECT_EQ(members.FindSecondClaim(3, roster)->code, Code::kDisagreement);
  EXPECT_EQ(members.FindSecondClaim(3, roster)->message,
            "rank 1 is claimed twice: by pid 11 on gpu02 and by pid 13 on gpu02");
  EXPECT_TRUE(members.FindSecondClaim(4, roster));
  EXPECT_TRUE(members.FindSecondClaim(5, roster));
  // Behind the leader of another node: that leader refuses it.
  members.Add(1, {{}, {Process(15, 2)}});
  EXPECT_FALSE(members.FindSecondClaim(1, roster));
  EXPECT_THAT(members.RanksIn(1, roster), ElementsAre(1));
}

// The leader ended when the group had just formed with it.
TEST(HelloMembers, AProcessThatReportsALeaderOfTheRosterIsNoPartOfTheGroup) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  ProcessInfo lost_leader = Process(0, 1);
  lost_leader.refused = Error{Code::kPeerLost, "rank 1 on gpu02 ended while the group was forming", ""};
  members.Add(1, {{}, {lost_leader, Process(12, 2)}});
  Roster roster;
  roster.nodes = {{"gpu02", {}}};
  for (const int pid : {10, 11, 12}) roster.members.push_back({0, pid - 10, pid, {}});
  EXPECT_EQ(members.FindSecondClaim(1, roster), lost_leader.refused);
}

// In containers of their own both are pid 1. The first has gone up first.
TEST(HelloMembers, OfTwoProcessesWithOnePidTheSecondIsNoMember) {
  const ProcessInfo self = Process(1, 0);
  HelloMembers members(self);
  ProcessInfo first = Process(1, 1);
  first.id = 7;
  ProcessInfo second = first;
  second.id = 8;
  members.Add(1, {{}, {first}});
  members.Add(2, {{}, {second}});
  Roster roster;
  roster.nodes = {{"gpu02", {}}};
  roster.members = {{0, 0, 1, {}}, {0, 1, 1, {}}};
  EXPECT_EQ(members.FindSecondClaim(1, roster), std::nullopt);
  const auto twice = members.FindSecondClaim(2, roster);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->message, "rank 1 is claimed twice: by pid 1 on gpu02 and by pid 1 on gpu02");
}

// The failure named "ranks 2,2".
TEST(HelloMembers, OfTwoProcessesWithOnePidBehindALeaderOneHasTheRank) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  ProcessInfo first = Process(1, 2);
  first.id = 7;
  ProcessInfo second = first;
  second.id = 8;
  members.Add(1, {{}, {Process(11, 1), first, second}});
  Roster roster;
  roster.nodes = {{"gpu02", {}}};
  roster.members = {{0, 0, 10, {}}, {0, 1, 11, {}}, {0, 2, 1, {}}};
  EXPECT_THAT(members.RanksIn(1, roster), ElementsAre(1, 2));
}

TEST(HelloMembers, EachNodeHasAHelloWithItsAddresses) {
  const ProcessInfo self = Process(10, 0);
  HelloMembers members(self);
  ProcessInfo elsewhere = Process(20, 3);
  elsewhere.node = "gpu03";
  members.Add(1, {{}, {Process(11, 1)}});
  members.Add(2, {{"10.0.0.3"}, {elsewhere}});
  EXPECT_THAT(members.TakeUnsent(),
              ElementsAre(Hello{{}, {self, Process(11, 1)}}, Hello{{"10.0.0.3"}, {elsewhere}}));
  EXPECT_EQ(members.SpeakerOf(2), elsewhere);
}

}  // namespace
}  // namespace muster::rendezvous
