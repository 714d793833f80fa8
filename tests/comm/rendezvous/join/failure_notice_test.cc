#include "comm/rendezvous/join/failure_notice.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of four ranks on two nodes, two of them here.
ArrivedRanks Arrived(bool root, bool leader, int local, int remote) {
  ArrivedRanks arrived{root, leader, 4, 2, 2};
  const auto add = [&arrived](int first, int ranks, const std::string& node, bool here) {
    for (int i = 0; i < ranks; ++i) arrived.Count(HelloOf({PartyOf(first + i, node, 4, i, 2)}), here);
  };
  add(0, local, "a", true);
  add(2, remote, "b", false);
  return arrived;
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
           Row{"a root without a rank of its own node", Arrived(true, true, 1, 2), true},
           Row{"a root without a rank of the other node", Arrived(true, true, 2, 1), true},
           Row{"a root with both nodes", Arrived(true, true, 2, 2), false},
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
           Row{"all have the failure", Arrived(true, true, 2, 2), Code::kPeerLost, seconds(60), std::nullopt},
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

// At the root, of ranks on the nodes a, b and c, with two on b.
class FailureNoticeTest : public testing::Test {
 protected:
  // The leader of a node, or a rank whose leader has ended: it reads the failure, and hangs up.
  void Come(int rank, const std::string& node, bool same_node = false) {
    Connect(same_node);
    peers.back()->Send(HelloFrom(rank, node));
  }
  static Bytes HelloFrom(int rank, const std::string& node) {
    return Encode(HelloOf({PartyOf(rank, node, 4, rank == 2 ? 1 : 0, node == "b" ? 2 : 1)}));
  }
  // A leader that stays for other ranks of its node, or of the nodes below it.
  void ComeToStay(int rank, const std::string& node) {
    Connect(false, ControlType::kAllKnow);
    peers.back()->Send(HelloFrom(rank, node));
  }
  void Connect(bool same_node, ControlType last = ControlType::kFailure) {
    auto [near, far] = net::SocketPair();
    children.Add(std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage),
                 "198.18.1.9:51234", same_node);
    peers.push_back(std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage));
    net::FrameStream& peer = *peers.back();
    peer.Start(
        [&peer, last](ByteView frame) {
          if (ControlTypeOf(frame) == last) peer.CloseAfterFlush();
        },
        [](const Error&) {});
  }
  FailureNotice Notice() {
    ArrivedRanks arrived{true, true, 4, 3, 1};
    arrived.Count(HelloOf({PartyOf(0, "a", 4, 0, 1)}), true);
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

// Seed 400658: the node's leader had ended, and its later ranks found no process with the failure.
TEST_F(FailureNoticeTest, TheRootStaysForARankOfANodeOfWhichAnotherHasCome) {
  const FailureNotice notice = Notice();
  Come(3, "c");
  Come(1, "b");
  ASSERT_TRUE(loop.Until([&] { return children.empty(); }));
  EXPECT_FALSE(done);
  Come(2, "b");
  EXPECT_TRUE(loop.Until([&] { return done; }));
}

// Seed 72048358 of the simulation: ranks of its node had gone to the root without it, or those of the nodes below it elsewhere.
TEST_F(FailureNoticeTest, TheRootEndsTheStayOfALeaderOnceAllRanksHaveCome) {
  const FailureNotice notice = Notice();
  ComeToStay(3, "c");
  Come(1, "b");
  ASSERT_TRUE(loop.Until([&] { return children.all().size() == 1; }));
  EXPECT_TRUE(peers.front()->open());
  EXPECT_FALSE(done);
  Come(2, "b");
  EXPECT_TRUE(loop.Until([&] { return done && !peers.front()->open(); }));
}

TEST_F(FailureNoticeTest, ALeaderThatComesLastDoesNotStay) {
  const FailureNotice notice = Notice();
  Come(1, "b");
  Come(2, "b");
  ASSERT_TRUE(loop.Until([&] { return children.empty(); }));
  ComeToStay(3, "c");
  EXPECT_TRUE(loop.Until([&] { return done && !peers.back()->open(); }));
}

// Then the ranks that a root has may be all of another launch's size.
TEST_F(FailureNoticeTest, ARootWithoutTheListOfNodesEndsNoStay) {
  ArrivedRanks arrived{true, true, 2, 0, 1};
  arrived.Count(HelloOf({PartyOf(0, "a", 2, 0, 1)}), true);
  const FailureNotice notice(
      *loop,
      {.failure = {{Code::kDisagreement, "the ranks disagree on the size", ""}, 1, -1, ""},
       .arrived = arrived,
       .node = "a",
       .late_nodes = seconds(60)},
      nullptr, children, [this] { done = true; });
  ComeToStay(3, "c");
  loop.Settle();
  EXPECT_TRUE(peers.back()->open());
}

// Also the one that it had not sent when it received the failure.
TEST_F(FailureNoticeTest, ALeaderHandsOnTheHellosOfItsNodeWhileItStays) {
  auto [near, far] = net::SocketPair();
  net::FrameStream root(*loop, std::move(far), kLongestMessage);
  std::vector<int> ranks;
  bool closed = false;
  root.Start(
      [&](ByteView frame) {
        if (const Result<Hello> hello = Decode<Hello>(frame))
          ranks.push_back(hello->members.front().claims.front().rank);
      },
      [&](const Error&) { closed = true; });
  ArrivedRanks arrived{false, true, 4, 3, 2};
  arrived.Count(HelloOf({PartyOf(1, "b", 4, 0, 2)}), true);
  const FailureNotice notice(*loop,
                             {.failure = {{Code::kPeerLost, "rank 3 ended", ""}, 3, -1, ""},
                              .from_above = true,
                              .arrived = arrived,
                              .unsent = {HelloOf({PartyOf(1, "b", 4, 0, 2)})},
                              .late_nodes = seconds(60)},
                             std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage),
                             children, [this] { done = true; });
  ASSERT_TRUE(loop.Until([&] { return ranks == std::vector{1}; }));
  EXPECT_FALSE(closed);
  Come(2, "b", true);
  EXPECT_TRUE(loop.Until([&] { return done && closed; }));
  EXPECT_EQ(ranks, (std::vector{1, 2}));
}

TEST_F(FailureNoticeTest, ALeaderEndsItsStayAndThoseBelowItIfTheRootHasAllRanks) {
  auto [near, far] = net::SocketPair();
  net::FrameStream root(*loop, std::move(far), kLongestMessage);
  bool closed = false;
  root.Start([](ByteView) {}, [&](const Error&) { closed = true; });
  ArrivedRanks arrived{false, true, 4, 3, 2};
  arrived.Count(HelloOf({PartyOf(1, "b", 4, 0, 2)}), true);
  const FailureNotice notice(*loop,
                             {.failure = {{Code::kPeerLost, "rank 3 ended", ""}, 3, -1, ""},
                              .from_above = true,
                              .arrived = arrived,
                              .late_nodes = seconds(60)},
                             std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage),
                             children, [this] { done = true; });
  ComeToStay(3, "c");
  loop.Settle();
  EXPECT_TRUE(peers.back()->open());
  EXPECT_FALSE(done);
  root.Send(EncodeBare(ControlType::kAllKnow));
  EXPECT_TRUE(loop.Until([&] { return done && closed && !peers.back()->open(); }));
}

// At a leader whose own hello is longer than the kernel's buffer for the process above, which does not read yet.
class LastMessagesTest : public FailureNoticeTest {
 protected:
  LastMessagesTest() {
    auto [near, far] = net::SocketPair();
    const int bytes = 4096;
    EXPECT_EQ(setsockopt(near.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    upstream = std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage);
    root = std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage);
  }
  FailureNotice NoticeOfLeader(int local_size) {
    Hello own = HelloOf({PartyOf(1, "b", 4, 0, local_size)});
    own.members.front().claims.front().payload = Bytes(size_t{1} << 20);
    ArrivedRanks arrived{false, true, 4, 3, local_size};
    arrived.Count(own, true);
    return FailureNotice(*loop,
                         {.failure = {{Code::kPeerLost, "rank 3 ended", ""}, 3, -1, ""},
                          .arrived = arrived,
                          .unsent = {own},
                          .node = "b",
                          .late_nodes = late_nodes,
                          .last_messages = last_messages},
                         std::move(upstream), children, [this] { done = true; });
  }
  void ReadAtRoot() {
    root->Start(
        [this](ByteView frame) {
          if (const Result<Hello> hello = Decode<Hello>(frame))
            ranks.push_back(hello->members.front().claims.front().rank);
        },
        [](const Error&) {});
  }
  void ComeOfLaterRestart() {
    ProcessInfo process = PartyOf(0, "b", 4, 0, 1);
    process.agreement.restart = 1;
    Connect(true);
    peers.back()->Send(Encode(HelloOf({process})));
  }

  Duration late_nodes{};
  Duration last_messages = std::chrono::hours(1);
  std::unique_ptr<net::FrameStream> upstream;
  std::unique_ptr<net::FrameStream> root;
  std::vector<int> ranks;
};

// Seed 40723413 of the simulation: the root stayed 10 s for ranks whose hellos a leader had not sent when it ended.
TEST_F(LastMessagesTest, ALeaderEndsOnceTheyHaveGoneUp) {
  const FailureNotice notice = NoticeOfLeader(1);
  loop.Settle();
  EXPECT_FALSE(done);
  ReadAtRoot();
  EXPECT_TRUE(loop.Until([&] { return done; }));
  EXPECT_EQ(ranks, std::vector{1});
}

// The kernel dropped it, because the connection above was closed with a message of the root's unread.
TEST_F(LastMessagesTest, AMessageFromAboveThatIsUnreadDoesNotCostThem) {
  for (const bool from_above : {false, true}) {
    auto [near, far] = net::TcpPairWithALongQueue();
    root = std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage);
    root->Send(Encode(Acceptance{1000, {0}, "a", true}));
    Hello own = HelloOf({PartyOf(1, "b", 4, 0, 1)});
    own.members.front().claims.front().payload = Bytes(100000);
    ArrivedRanks arrived{false, true, 4, 3, 1};
    arrived.Count(own, true);
    done = false;
    ranks.clear();
    const FailureNotice notice(*loop,
                               {.failure = {{Code::kPeerLost, "rank 3 ended", ""}, 3, -1, ""},
                                .from_above = from_above,
                                .arrived = arrived,
                                .unsent = {own},
                                .node = "b",
                                .last_messages = last_messages},
                               std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage),
                               children, [this] { done = true; });
    loop.Settle();
    ReadAtRoot();
    EXPECT_TRUE(loop.Until([&] { return done; }));
    EXPECT_EQ(ranks, std::vector{1}) << from_above;
  }
}

TEST_F(LastMessagesTest, ProcessesThatComeAndGoDoNotProlongIt) {
  last_messages = seconds(2);
  const FailureNotice notice = NoticeOfLeader(1);
  std::function<void()> come_and_go = [&] {
    ComeOfLaterRestart();
    loop.Settle();
    peers.back().reset();
    loop->After(milliseconds(500), come_and_go);
  };
  loop.Settle();
  loop->After(milliseconds(0), come_and_go);
  EXPECT_TRUE(loop.Until([&] { return done; }));
}

// Its hello can no longer go up: the root would stay for a rank that has the failure.
TEST_F(LastMessagesTest, ARankThatComesBehindThemIsLeftToTheRoot) {
  const FailureNotice notice = NoticeOfLeader(2);
  ComeOfLaterRestart();
  loop.Settle();
  Connect(true);
  bool answered = false;
  peers.back()->Start([&](ByteView) { answered = true; }, [](const Error&) {});
  peers.back()->Send(HelloFrom(2, "b"));
  loop.Settle();
  EXPECT_FALSE(done);
  ReadAtRoot();
  EXPECT_TRUE(loop.Until([&] { return done; }));
  EXPECT_FALSE(answered);
  EXPECT_EQ(ranks, std::vector{1});
}

// Then the root has stayed as long, and ends as well.
TEST_F(LastMessagesTest, ARankThatComesAfterAWholeStayGetsTheFailure) {
  late_nodes = milliseconds(1);
  last_messages = milliseconds(1);
  const FailureNotice notice = NoticeOfLeader(2);
  ASSERT_TRUE(loop.Until([&] { return done; }));
  Connect(true);
  bool answered = false;
  peers.back()->Start([&](ByteView) { answered = true; }, [](const Error&) {});
  peers.back()->Send(HelloFrom(2, "b"));
  EXPECT_TRUE(loop.Until([&] { return answered; }));
}

}  // namespace
}  // namespace muster::rendezvous
