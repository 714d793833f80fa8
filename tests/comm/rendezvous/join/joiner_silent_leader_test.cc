// A leader that is stopped while its group forms: the kernel accepts connections for it, and none is answered.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <vector>

#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The leader of b has a loop of its own, which stands still while the leader is stopped.
class JoinerSilentLeaderTest : public RequestsTest {
 protected:
  void MakeWith(Duration limit) {
    Make({"a", "b", "b", "b"});
    SetAll([limit](JoinRequest& request) {
      request.timeouts.rendezvous = limit;
      request.leader_patience = milliseconds(10);
    });
  }
  void StartLeader() {
    leader = std::make_unique<TestRank>(*stopped, requests[1]);
    leader->Start();
    stopped.Settle();
  }
  [[nodiscard]] bool Together(const std::function<bool()>& done) {
    const Deadline deadline = Deadline::After(seconds(10));
    while (!done() && !deadline.Expired()) {
      loop->RunOnce(Deadline::After(milliseconds(1)));
      stopped->RunOnce(Deadline::After(milliseconds(1)));
    }
    return done();
  }

  net::TestLoop stopped;
  std::unique_ptr<TestRank> leader;
};

TEST_F(JoinerSilentLeaderTest, TheLeaderAloneIsMissing) {
  MakeWith(seconds(2));
  StartLeader();
  TestGroup group(loop, {requests[0], requests[2], requests[3]});
  EXPECT_TRUE(group.AllRefusedWith(
      {Code::kDeadline, "the group did not form within 2s: 3/4 ranks; missing b: 1 (never connected)",
       "raise timeouts.rendezvous to wait longer"}));
}

// The root has its hello: the formed group notices its silence, and names it.
TEST_F(JoinerSilentLeaderTest, TheGroupFormsIfTheRootKnowsIt) {
  MakeWith(seconds(20));
  SetAll([](JoinRequest& request) {
    request.liveness.heartbeat = milliseconds(20);
    request.liveness.suspect_after = milliseconds(100);
    request.liveness.dead_after = milliseconds(200);
  });
  StartLeader();
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(Together([&] { return root.Arrived(1); }));
  TestGroup followers(loop, {requests[2], requests[3]});
  ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
  EXPECT_TRUE(followers.AllFormed());
  ASSERT_TRUE(loop.Until([&] { return !root.failures.empty(); }));
  EXPECT_EQ(root.failures.front().rank, 1);
}

TEST_F(JoinerSilentLeaderTest, ALeaderThatContinuesJoinsItsFollowers) {
  MakeWith(seconds(20));
  StartLeader();
  TestRank root(*loop, requests[0]);
  TestGroup followers(loop, {requests[2], requests[3]});
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return root.Arrived(2) && root.Arrived(3); }));
  ASSERT_TRUE(Together([&] { return root.ended() && leader->ended(); }));
  EXPECT_TRUE(followers.AllFormed());
  EXPECT_TRUE(root.formed());
  EXPECT_TRUE(leader->formed());
}

// No rank can go to a root that does not answer; the kernel gives the process.
TEST_F(JoinerSilentLeaderTest, OnOneNodeTheFollowersNameTheLeader) {
  Make({"a", "a"});
  SetAll([](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kSameNode;
    request.timeouts.rendezvous = milliseconds(200);
  });
  leader = std::make_unique<TestRank>(*stopped, requests[0]);
  leader->Start();
  stopped.Settle();
  TestRank follower(*loop, requests[1]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return follower.ended(); }));
  EXPECT_EQ(
      follower.refused()->error.message,
      fmt::format("rank 0 on a (process {}) accepted the connection and sent nothing for 200ms", getpid()));
}

}  // namespace
}  // namespace muster::rendezvous
