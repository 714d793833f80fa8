// Ranks that cannot be part of their group, and the errors that the others get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

const Error kRefused{Code::kBadEnvironment, "rank N was refused: RANK=0 is stale", "unset it"};

class JoinerRefusalTest : public RequestsTest {
 protected:
  void Refuse(size_t rank, const Error& error = kRefused) { requests[rank].self.refused = error; }
};

TEST_F(JoinerRefusalTest, AnyRankEndsThemAll) {
  for (size_t rank = 0; rank < 6; ++rank) {
    Make({"a", "a", "b", "b", "c", "c"});
    Refuse(rank);
    TestGroup group(loop, requests);
    EXPECT_TRUE(group.AllRefusedWith(kRefused)) << rank;
  }
}

TEST_F(JoinerRefusalTest, NobodyWaitsForTheRestToCome) {
  Make({"a", "a", "b", "b"});
  Refuse(2);
  TestGroup group(loop, Without(3));
  EXPECT_TRUE(group.AllRefusedWith(kRefused));
}

TEST_F(JoinerRefusalTest, WhereAllAreRefusedTheyAllSayTheSame) {
  Make({"a", "a", "b", "b"});
  for (size_t rank = 0; rank < 4; ++rank) {
    Refuse(rank, {Code::kBadEnvironment, fmt::format("rank {} was refused", rank), ""});
  }
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith({Code::kBadEnvironment, "rank 0 was refused", ""}));
}

// Its configuration is what could not be read.
TEST_F(JoinerRefusalTest, WhatItWouldDisagreeOnDoesNotCount) {
  Make({"a", "b"});
  requests[1].self.agreement = {};
  requests[1].self.agreement.world_size = 2;
  Refuse(1);
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith(kRefused));
}

// Nor does it have the number of the others.
TEST_F(JoinerRefusalTest, ARootWithoutAWorldWaitsForTheOthers) {
  const LogCapture log;
  Make({"a", "b"});
  requests[0].self.agreement = {};
  Refuse(0);
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
  EXPECT_TRUE(log.Has("waiting up to 0.1 s to report this to the other ranks"));
}

TEST_F(JoinerRefusalTest, WithoutARootItSaysItsOwn) {
  Make({"a", "b", "b"});
  SetAll([](JoinRequest& request) { request.timeouts.rendezvous = milliseconds(100); });
  Refuse(1);
  // A leader, and with it its follower.
  TestGroup group(loop, Without(0));
  EXPECT_TRUE(group.AllRefusedWith(kRefused));
}

TEST_F(JoinerRefusalTest, WithoutProofItSaysItsOwn) {
  Make({"a", "b"});
  requests[1].options.auth = AuthMethod::kSecret;
  requests[1].timeouts.rendezvous = milliseconds(100);
  Refuse(1);
  TestRank rank(*loop, requests[1]);
  rank.Start();
  ASSERT_TRUE(loop.Until([&] { return rank.ended(); }));
  EXPECT_EQ(rank.refused()->error, kRefused);
}

// It ends by that, and the root's error has the reason; no rank is ended by a process that has proven nothing.
TEST_F(JoinerRefusalTest, WithoutAWayToProveItselfItShowsThatAtTheRoot) {
  Make({"a", "b", "b"});
  requests[0].options.auth = AuthMethod::kSecret;
  requests[0].secret = *auth::JobSecret::Generate();
  requests[0].timeouts.rendezvous = milliseconds(1500);
  for (const size_t rank : {1, 2}) requests[rank].options.auth = AuthMethod::kSecret;
  TestRank root(*loop, requests[0]);
  TestRank leader(*loop, requests[1]);
  TestRank follower(*loop, requests[2]);
  for (TestRank* rank : {&root, &leader, &follower}) rank->Start();
  ASSERT_TRUE(loop.Until([&] { return leader.ended() && follower.ended(); }));
  for (const TestRank* rank : {&leader, &follower}) {
    EXPECT_EQ(rank->refused()->error.code, Code::kAuthentication);
    EXPECT_EQ(rank->refused()->error.message, "rendezvous.auth is secret, but no job secret is known");
  }
  EXPECT_FALSE(root.ended());
  ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
  EXPECT_EQ(root.refused()->error.code, Code::kDeadline);
  EXPECT_THAT(root.refused()->error.message, testing::HasSubstr(" uses auth none, rank 0 on a secret"));
}

// Another rank of its node has a proof, and the kernel's word for the leader's user: no rank waits for it.
TEST_F(JoinerRefusalTest, AFollowerThatCanProveItselfReportsALeaderThatCannot) {
  const Error error{
      Code::kAuthentication,
      "rank 1 on b cannot prove its identity: rendezvous.auth is secret, but no job secret is known",
      "export MUSTER_SECRET=$(muster secret) in the batch script, before srun"};
  Make({"a", "b", "b", "b"});
  SetAll([](JoinRequest& request) { request.options.auth = AuthMethod::kSecret; });
  for (const size_t rank : {0, 2}) requests[rank].secret = *auth::JobSecret::Parse(std::string(64, 'a'), "");
  TestGroup group(loop, requests);
  ASSERT_TRUE(loop.Until(
      [&] { return group[0].ended() && group[1].ended() && group[2].ended() && group[3].ended(); }));
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(group[rank].refused()->error, error) << rank;
    EXPECT_EQ(group[rank].refused()->rank, 1) << rank;
  }
  for (const size_t rank : {1, 3})
    EXPECT_EQ(group[rank].refused()->error.message, "rendezvous.auth is secret, but no job secret is known");
}

// It does so as the root, which the leader cannot be.
TEST_F(JoinerRefusalTest, AFollowerThatCanProveItselfReportsARootThatCannot) {
  Make({"a", "a", "b"});
  SetAll([](JoinRequest& request) {
    request.options.auth = AuthMethod::kSecret;
    request.late_nodes = std::chrono::seconds(30);
  });
  for (const size_t rank : {1, 2}) requests[rank].secret = *auth::JobSecret::Parse(std::string(64, 'a'), "");
  TestGroup group(loop, requests);
  ASSERT_TRUE(loop.Until([&] { return group[0].ended() && group[1].ended() && group[2].ended(); }));
  for (const size_t rank : {1, 2}) {
    EXPECT_EQ(group[rank].refused()->error.message,
              "rank 0 on a cannot prove its identity: rendezvous.auth is secret, but no job secret is known");
  }
}

// As one without a descriptor for the connection: the root would wait for its whole node.
TEST_F(JoinerRefusalTest, FollowersReportALeaderThatCannotReachTheRoot) {
  const Error error{Code::kSystem, "rank 1 on b cannot open a connection: Too many open files", ""};
  Make({"a", "b", "b"});
  Refuse(1, error);
  requests[1].meeting.endpoint->port = net::FreePort();
  requests[1].timeouts.rendezvous = milliseconds(300);
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith(error));
}

// A leader that is known to the root, or the root itself, passes on what concerns another rank.
TEST_F(JoinerRefusalTest, AnAuthenticationFailureOfAnotherRankIsNotThatOfTheLeader) {
  Make({"a", "a", "b"});
  const Error error{Code::kAuthentication, "rank 2 on b cannot prove its identity", ""};
  Refuse(2, error);
  TestGroup group(loop, requests);
  EXPECT_TRUE(group.AllRefusedWith(error));
}

// Rank 0 comes to a leader that has no proof: it becomes no root that would ask for none.
TEST_F(JoinerRefusalTest, WithoutAWayToProveItselfItIsNoRoot) {
  Make({"b", "b", "a"});
  for (const size_t rank : {0, 1}) {
    requests[rank].options.auth = AuthMethod::kSecret;
    requests[rank].self.claims[0].local_rank = -1;
    requests[rank].self.claims[0].local_size = -1;
  }
  requests[2].timeouts.rendezvous = milliseconds(1000);
  TestRank leader(*loop, requests[1]);
  leader.Start();
  loop.Settle();
  TestRank rank_zero(*loop, requests[0]);
  TestRank stranger(*loop, requests[2]);
  rank_zero.Start();
  stranger.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.ended() && rank_zero.ended() && stranger.ended(); }));
  for (const TestRank* rank : {&leader, &rank_zero})
    EXPECT_EQ(rank->refused()->error.message, "rendezvous.auth is secret, but no job secret is known");
  EXPECT_EQ(stranger.refused()->error.code, Code::kDeadline);
}

// One that asks for no proof receives nothing from it either.
TEST_F(JoinerRefusalTest, WithoutAWayToProveItselfItSendsNothingMore) {
  Make({"a", "b"});
  requests[0].timeouts.rendezvous = milliseconds(500);
  requests[1].options.auth = AuthMethod::kSecret;
  TestRank root(*loop, requests[0]);
  TestRank other(*loop, requests[1]);
  root.Start();
  other.Start();
  ASSERT_TRUE(loop.Until([&] { return other.ended() && root.ended(); }));
  EXPECT_EQ(other.refused()->error.message, "rendezvous.auth is secret, but no job secret is known");
  EXPECT_EQ(root.refused()->error.code, Code::kDeadline);
}

// Nor does it wait as long as its leader.
TEST_F(JoinerRefusalTest, AFollowerDoesNotWaitForTheRootOfItsLeader) {
  Make({"a", "b", "b"});
  requests[1].timeouts.rendezvous = milliseconds(1500);
  requests[2].timeouts.rendezvous = milliseconds(200);
  Refuse(2);
  TestRank leader(*loop, requests[1]);
  leader.Start();
  TestRank follower(*loop, requests[2]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return follower.ended(); }));
  EXPECT_EQ(follower.refused()->error, kRefused);
  EXPECT_FALSE(leader.ended());
  // The reason is still that.
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_EQ(leader.refused()->error, kRefused);
}

TEST_F(JoinerRefusalTest, ALeftoverOfAnEarlierLifeIsRefusedAlone) {
  Make({"a", "b"});
  JoinRequest leftover = requests[1];
  leftover.self.node = "old";
  leftover.self.refused = kRefused;
  SetAll([](JoinRequest& request) { request.self.agreement.restart = 1; });
  TestRank root(*loop, requests[0]);
  root.Start();
  TestRank old(*loop, leftover);
  old.Start();
  ASSERT_TRUE(loop.Until([&] { return old.ended(); }));
  EXPECT_EQ(old.refused()->error.code, Code::kDisagreement);
  EXPECT_FALSE(root.ended());
  TestRank last(*loop, requests[1]);
  last.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended() && last.ended(); }));
  EXPECT_TRUE(root.formed() && last.formed());
}

// As in a container with another muster. Its messages may be different ones.
TEST_F(JoinerRefusalTest, ARankWithAnotherReleaseIsNamed) {
  const std::string older = "has muster 0.6.0 (protocol 6-7)";
  const std::string newer = "has muster 0.7.0 (protocol 7-8)";
  for (const bool leads : {true, false}) {
    Make({"a", "a", "b"});
    SetAll([](JoinRequest& request) { request.versions = {6, 7, "0.6.0"}; });
    requests[leads ? 0 : 1].versions = {7, 8, "0.7.0"};
    const std::string& leaders = leads ? newer : older;
    const std::string& followers = leads ? older : newer;
    std::vector<std::unique_ptr<TestRank>> ranks;
    for (const JoinRequest& request : requests) {
      ranks.push_back(std::make_unique<TestRank>(*loop, request));
      ranks.back()->Start();
    }
    ASSERT_TRUE(loop.Until(
        [&] { return std::ranges::all_of(ranks, [](const auto& rank) { return rank->ended(); }); }));
    ASSERT_TRUE(ranks[0]->refused() && ranks[1]->refused() && ranks[2]->refused());
    EXPECT_EQ(ranks[1]->refused()->error,
              (Error{Code::kDisagreement, fmt::format("rank 0 on a {}, rank 1 on a {}", leaders, followers),
                     "start all ranks with the same release of muster"}));
    for (const size_t rank : {size_t{0}, size_t{2}}) {
      EXPECT_EQ(ranks[rank]->refused()->error.message,
                fmt::format("pid {} on this node {}, the leader of a {}", getpid(), followers, leaders));
    }
  }
}

// Rank 0 runs elsewhere: no process would answer on the node on which all search for it.
TEST_F(JoinerRefusalTest, TheLeaderOfTheNodeThatAllLookOnStandsInForTheRoot) {
  Make({"a", "127.0.0.1", "127.0.0.1", "c"});
  requests[1].named_by_host = true;
  Refuse(3);
  TestGroup group(loop, Without(0));
  EXPECT_TRUE(group.AllRefusedWith(kRefused));
}

TEST_F(JoinerRefusalTest, SoDoesOneWhoseMachineHasTheAddress) {
  Make({"a", "b", "c"});
  requests[1].named_by_host = true;
  Refuse(2);
  TestGroup group(loop, Without(0));
  EXPECT_TRUE(group.AllRefusedWith(kRefused));
}

// MASTER_ADDR is an address that every node has: each node waits for the other.
TEST_F(JoinerRefusalTest, AStandInNamesTheAddressThatMadeItTheRoot) {
  Make({"a", "b"});
  requests[1].named_by_host = true;
  requests[1].timeouts.rendezvous = milliseconds(500);
  TestGroup group(loop, Without(0));
  EXPECT_TRUE(group.AllRefusedWith({Code::kDeadline,
                                    "the group did not form within 500ms: 1/2 ranks; missing a: 0 (no "
                                    "contact with the node); b is the root in place of "
                                    "rank 0, because the endpoint 127.0.0.1 is an address of b",
                                    "raise timeouts.rendezvous to wait longer"}));
}

// It connects to the others, and reports its error to them; here they are missing, too.
TEST_F(JoinerRefusalTest, ARootElsewhereTellsItsFollowers) {
  Make({"a", "a", "b"});
  SetAll([](JoinRequest& request) { request.meeting.endpoint->host = "192.0.2.1"; });
  requests[0].timeouts.rendezvous = milliseconds(200);
  TestGroup group(loop, Without(2));
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kConfiguration,
       "rank 0 runs on a and must be reached there, but 192.0.2.1 is 192.0.2.1, which is not an address of "
       "that node",
       "set MASTER_ADDR or rendezvous.endpoint to the node of rank 0"}));
}

}  // namespace
}  // namespace muster::rendezvous
