#include "comm/rendezvous/join/failure_notice.h"

#include <gtest/gtest.h>

#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// Of four ranks on two nodes, two of them here.
ArrivedRanks Arrived(bool root, bool leader, int local, int remote,
                     std::set<std::string> notified_nodes = {}) {
  return {root, leader, 4, 2, 2, local, remote, std::move(notified_nodes)};
}

ArrivedRanks WithoutLayout(ArrivedRanks arrived) {
  arrived.nodes = 0;
  arrived.local_size = -1;
  return arrived;
}

TEST(MoreNodesMayCome, ToTheRootFromAnyNodeToALeaderFromItsOwn) {
  struct Row {
    const char* what;
    ArrivedRanks arrived;
    bool expected;
  };
  for (const Row& row : {
           Row{"a follower", Arrived(false, false, 1, 0), false},
           Row{"a leader without its follower", Arrived(false, true, 1, 0), true},
           Row{"a leader with its node", Arrived(false, true, 2, 0), false},
           Row{"a leader of unknown many", WithoutLayout(Arrived(false, true, 2, 0)), true},
           Row{"a root without its own node", Arrived(true, true, 1, 2, {"b"}), true},
           Row{"a root whose other node is not told", Arrived(true, true, 2, 2), true},
           Row{"a root whose other node has the failure", Arrived(true, true, 2, 0, {"b"}), false},
           Row{"a root without layout and a rank", WithoutLayout(Arrived(true, true, 1, 2)), true},
           Row{"a root without layout and all ranks", WithoutLayout(Arrived(true, true, 1, 3)), false},
       }) {
    EXPECT_EQ(MoreNodesMayCome(row.arrived), row.expected) << row.what;
  }
}

TEST(TimeToStay, IsLateNodesAtMostAndEndsAtTheDeadline) {
  struct Row {
    const char* what;
    ArrivedRanks arrived;
    Code failure;
    seconds until_deadline;
    std::optional<seconds> expected;
  };
  const ArrivedRanks root = Arrived(true, true, 1, 0);
  for (const Row& row : {
           Row{"the deadline is far", root, Code::kPeerLost, seconds(60), seconds(10)},
           Row{"the deadline is near", root, Code::kPeerLost, seconds(3), seconds(3)},
           Row{"the deadline is over", root, Code::kPeerLost, seconds(-3), seconds(0)},
           Row{"it is the deadline", root, Code::kDeadline, seconds(60), std::nullopt},
           Row{"all have the failure", Arrived(true, true, 2, 2, {"b"}), Code::kPeerLost, seconds(60),
               std::nullopt},
           Row{"a root without layout", WithoutLayout(root), Code::kPeerLost, seconds(60), seconds(10)},
           Row{"a leader", Arrived(false, true, 1, 0), Code::kPeerLost, seconds(60), seconds(10)},
           Row{"a leader that knows of no other", WithoutLayout(Arrived(false, true, 1, 0)), Code::kPeerLost,
               seconds(60), std::nullopt},
           Row{"a follower", Arrived(false, false, 1, 0), Code::kPeerLost, seconds(60), std::nullopt},
       }) {
    const std::optional<Duration> expected = row.expected;
    EXPECT_EQ(TimeToStay(row.arrived, row.failure, seconds(10), row.until_deadline), expected) << row.what;
  }
  EXPECT_EQ(TimeToStay(root, Code::kPeerLost, seconds(0), seconds(60)), std::nullopt);
}

TEST(DescribeLateRanks, CountsThoseOfTheGroupOrOfTheNode) {
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 1, 0), "a"), "3 ranks");
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 2, 1), "a"), "1 rank");
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 2, 2), "a"), "the other ranks");
  EXPECT_EQ(DescribeLateRanks(Arrived(false, true, 1, 0), "a"), "1 rank of a");
  EXPECT_EQ(DescribeLateRanks(WithoutLayout(Arrived(false, true, 1, 0)), "a"), "the other ranks");
}

// At the root, of ranks on the nodes a, b and c.
class FailureNoticeTest : public testing::Test {
 protected:
  // The leader of a node, or a rank whose leader has ended: it reads the failure, and hangs up.
  void Come(int rank, const std::string& node) {
    Connect();
    peers.back()->Send(Encode(HelloOf({PartyOf(rank, node, 4)})));
  }
  void Connect() {
    auto [near, far] = net::SocketPair();
    children.Add(std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage),
                 "198.18.1.9:51234", false);
    peers.push_back(std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage));
    net::FrameStream& peer = *peers.back();
    peer.Start(
        [&peer](ByteView frame) {
          if (ControlTypeOf(frame) == ControlType::kFailure) peer.CloseAfterFlush();
        },
        [](const Error&) {});
  }
  FailureNotice Notice() {
    ArrivedRanks arrived;
    arrived.root = arrived.leader = true;
    arrived.world_size = 4;
    arrived.nodes = 3;
    arrived.local = arrived.local_size = 1;
    return FailureNotice(*loop,
                         {.failure = {{Code::kAuthentication, "rank 1 has no proof", ""}, 1, -1, ""},
                          .arrived = arrived,
                          .node = "a",
                          .late_nodes = seconds(60)},
                         nullptr, children, [this] { done = true; });
  }

  net::TestLoop loop;
  ChildLinks children;
  std::vector<std::unique_ptr<net::FrameStream>> peers;
  bool done = false;
};

TEST_F(FailureNoticeTest, TheRootStaysForANodeOfWhichNoRankHasCome) {
  const FailureNotice notice = Notice();
  Come(1, "b");
  Come(2, "b");
  ASSERT_TRUE(loop.Until([&] { return children.empty(); }));
  EXPECT_FALSE(done);
  Come(3, "c");
  EXPECT_TRUE(loop.Until([&] { return done; }));
}

TEST_F(FailureNoticeTest, ALeaderThatHadNotSentItsHelloIsANode) {
  Connect();
  const FailureNotice notice = Notice();
  Come(1, "b");
  EXPECT_TRUE(loop.Until([&] { return done; }));
}

}  // namespace
}  // namespace muster::rendezvous
