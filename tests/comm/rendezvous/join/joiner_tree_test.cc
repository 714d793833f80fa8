// A leader in a tree of leaders. The test plays the processes above it, each at an address of loopback.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/link/authenticating_acceptor.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/link/node_listener.h"
#include "comm/rendezvous/link/root_dialer.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// A process above the leader under test.
class Above {
 public:
  Above(net::TestLoop& loop, const JoinRequest& request, Acceptance acceptance)
      : acceptance_(std::move(acceptance)),
        acceptor_(*loop,
                  {.meeting = auth::MeetingIdOf(request.meeting.key), .handshake_timeout = seconds(10)},
                  *prover_, [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress&) {
                    Serve(std::move(link));
                  }) {
    EXPECT_TRUE(acceptor_.Open({*net::SocketAddress::FromNumeric(acceptance_.node, 0)},
                               RootLadders(request).front()(kLadderLength)));
  }

  // As a root whose group cannot form.
  void AnswerWith(Failure failure) { failure_ = std::move(failure); }
  // As a process of a group at work, for those of the next.
  void AnswerLater() { later_ = true; }
  // Hellos have no answer until Accept().
  void HoldBack() { accepts_ = false; }
  void Accept() {
    accepts_ = true;
    link_->Send(Encode(acceptance_));
  }
  void Send(const Failure& failure) { link_->Send(Encode(failure)); }
  // As the kernel does for a process that was killed.
  void End() {
    acceptor_.Close();
    link_.reset();
  }

  // The ranks in the hellos, with "refused" in front of those that cannot join; "leave".
  std::vector<std::string> came;
  // The reasons of those that cannot join.
  std::vector<std::string> reported;

 private:
  void Serve(std::unique_ptr<net::FrameStream> link) {
    link_ = std::move(link);
    link_->Start([this](ByteView frame) { OnFrame(frame); }, [](const Error&) {});
  }
  void OnFrame(ByteView frame) {
    if (ControlTypeOf(frame) == ControlType::kLeave) came.push_back("leave");
    if (ControlTypeOf(frame) != ControlType::kHello) return;
    const Result<Hello> hello = Decode<Hello>(frame);
    ASSERT_TRUE(hello);
    for (const ProcessInfo& member : hello->members) {
      came.push_back(fmt::format("{}{}", member.refused ? "refused " : "", member.claims.front().rank));
      if (member.refused) reported.push_back(member.refused->message);
    }
    if (later_) return link_->Send(EncodeBare(ControlType::kLater));
    if (accepts_) link_->Send(Encode(acceptance_));
    if (failure_) link_->Send(Encode(*failure_));
  }

  const Acceptance acceptance_;
  const std::unique_ptr<auth::Prover> prover_ = auth::MakeNoneProver();
  AuthenticatingAcceptor acceptor_;
  std::unique_ptr<net::FrameStream> link_;
  std::optional<Failure> failure_;
  bool accepts_ = true;
  bool later_ = false;
};

// The leader of a process below, connected to the leader of `host`.
class LeaderBelow {
 public:
  LeaderBelow(net::TestLoop& loop, const JoinRequest& request, const std::string& host)
      : dialer_(
            *loop, {auth::MeetingIdOf(request.meeting.key), seconds(10), seconds(10)}, *prover_,
            [this, self = request.self](std::unique_ptr<net::FrameStream> link) {
              link_ = std::move(link);
              link_->Start([this](ByteView frame) { answers.push_back(ControlTypeOf(frame)); },
                           [](const Error&) {});
              link_->Send(Encode(HelloOf({self})));
            },
            nullptr) {
    std::vector<net::SocketAddress> candidates;
    for (const uint16_t port : RootLadders(request).front()(kLadderLength))
      candidates.push_back(*net::SocketAddress::FromNumeric(host, port));
    dialer_.AddCandidates(candidates);
  }

  bool connected() const { return link_ != nullptr; }

  std::vector<std::optional<ControlType>> answers;

 private:
  const std::unique_ptr<auth::Prover> prover_ = auth::MakeNoneProver();
  RootDialer dialer_;
  std::unique_ptr<net::FrameStream> link_;
};

class JoinerTreeTest : public RequestsTest {
 protected:
  // Ranks 3 and 4 are below rank 1, which is below the root, as rank 2 is.
  JoinerTreeTest() {
    Make({"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.4", "127.0.0.5"});
    SetAll([](JoinRequest& request) {
      request.meeting.find_root = FindRoot::kFirstNode;
      request.fan_out = 2;
      request.late_nodes = seconds(60);
    });
  }
  Failure Lost(int rank) const {
    return {EndedWhileForming(fmt::format("rank {} on 127.0.0.{}", rank, rank + 1)), rank, -1, ""};
  }

  void HaveShortSilence(Duration dead_after) {
    SetAll([dead_after](JoinRequest& request) {
      request.liveness.heartbeat = milliseconds(10);
      request.liveness.suspect_after = milliseconds(30);
      request.liveness.dead_after = dead_after;
    });
  }

  // Of rank 1, by the leader below it, which is alone on its node.
  void ExpectItsEndToBeNamed(Above& parent) {
    requests[3].timeouts.rendezvous = seconds(1);
    requests[3].self.claims.front().local_size = 1;
    TestRank leader(*loop, requests[3]);
    leader.Start();
    ASSERT_TRUE(loop.Until([&] { return !parent.came.empty(); }));
    loop.Settle();
    parent.End();
    ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
    EXPECT_EQ(leader.refused()->error, Lost(1).error);
  }

  static constexpr uint64_t kRemaining = 20000;
};

// Seed 830680 of the simulation: the root stayed 10 s for such a late rank.
TEST_F(JoinerTreeTest, RanksBelowALeaderThatEndsAreReportedAroundIt) {
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  Above beside(loop, requests[2], {kRemaining, {2}, "127.0.0.3", true});
  root.AnswerWith(Lost(1));
  TestRank leader(*loop, requests[3]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return !parent.came.empty(); }));
  loop.Settle();
  parent.End();
  ASSERT_TRUE(loop.Until([&] { return root.came.size() == 2; }));
  TestRank late(*loop, requests[4]);
  late.Start();
  for (TestRank* const rank : {&leader, &late}) {
    ASSERT_TRUE(loop.Until([&] { return rank->ended(); }));
    EXPECT_EQ(rank->refused()->error, Lost(1).error);
  }
  EXPECT_THAT(parent.came, ElementsAre("3"));
  EXPECT_THAT(root.came, ElementsAre("refused 1", "3", "4"));
  EXPECT_THAT(beside.came, IsEmpty()) << "it need not stay for these ranks";
}

// Seed 3031217 of the simulation: a leader ended after it had sent up the hellos of those below, and before it had accepted them.
// The root had all ranks and ended; they searched it until their deadline.
TEST_F(JoinerTreeTest, HellosFromBelowGoUpOnceTheLeaderHasBeenAccepted) {
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  root.HoldBack();
  TestRank parent(*loop, requests[1]);
  parent.Start();
  ASSERT_TRUE(loop.Until([&] { return !root.came.empty(); }));
  LeaderBelow below(loop, requests[5], "127.0.0.2");
  ASSERT_TRUE(loop.Until([&] { return below.connected(); }));
  loop.Settle();
  EXPECT_THAT(root.came, ElementsAre("1"));
  EXPECT_THAT(below.answers, IsEmpty());
  root.Accept();
  ASSERT_TRUE(loop.Until([&] { return root.came.size() == 2 && !below.answers.empty(); }));
  EXPECT_THAT(root.came, ElementsAre("1", "5"));
  EXPECT_THAT(below.answers, ElementsAre(ControlType::kAccepted));
}

// Seed 41266148 of the simulation: the process had 5 s to report the lost leader, and passed these on as the root's time. The leaders
// below stayed for no late rank.
TEST_F(JoinerTreeTest, AProcessInThePlaceOfALostLeaderPassesOnTheTimeOfTheRoot) {
  const JoinRequest& late = requests[4];
  const LocalNames names =
      MakeLocalNames(late.meeting.LocalKey(), late.self.node, late.shared_directories, late.uid);
  std::unique_ptr<net::FrameStream> to_follower;
  bool has_accepted = false;
  NodeListener lost(*loop, names, [&](UniqueFd fd, net::PeerCredentials) {
    to_follower = std::make_unique<net::FrameStream>(*loop, std::move(fd), kLongestMessage);
    to_follower->Start(
        [&](ByteView frame) {
          if (ControlTypeOf(frame) != ControlType::kHello) return;
          to_follower->Send(Encode(Acceptance{kRemaining, {3}, "127.0.0.4", false}));
          has_accepted = true;
        },
        [](const Error&) {});
  });
  ASSERT_TRUE(lost.Open(NodeListener::Candidates::kOne));
  TestRank follower(*loop, requests[4]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return has_accepted; }));
  loop.Settle();
  lost.Close();
  to_follower.reset();
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  ASSERT_TRUE(loop.Until([&] { return parent.came.size() == 2; }));
  EXPECT_THAT(parent.came, ElementsAre("refused 3", "4"));
  loop.Settle();
  net::FrameStream link(*loop, DialLocal(names), kLongestMessage);
  std::optional<Acceptance> answer;
  link.Start(
      [&](ByteView frame) {
        if (const Result<Acceptance> accepted = Decode<Acceptance>(frame)) answer = *accepted;
      },
      [](const Error&) {});
  link.Send(Encode(HelloOf({late.self})));
  ASSERT_TRUE(loop.Until([&] { return answer.has_value(); }));
  EXPECT_GT(answer->remaining_milliseconds, kRemaining / 2);
}

// The root may have ended as well.
TEST_F(JoinerTreeTest, ALeaderBelowOneThatEndsNamesItIfItFindsNoOtherProcessAbove) {
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  ExpectItsEndToBeNamed(parent);
}

// Seed 7526197 of the simulation: it waited for the end of that group, then for a root until timeouts.rendezvous. The process above
// was of the next group.
TEST_F(JoinerTreeTest, ALeaderBelowOneThatEndsDoesNotWaitForAnotherGroup) {
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  root.AnswerLater();
  ExpectItsEndToBeNamed(parent);
  EXPECT_THAT(root.came, ElementsAre("refused 1", "3"));
}

// The ranks below a leader that was stopped were missing at the root's deadline, and the stopped one was not named.
TEST_F(JoinerTreeTest, ALeaderBelowOneThatFallsSilentReportsIt) {
  HaveShortSilence(milliseconds(100));
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  root.AnswerWith(Lost(1));
  TestRank leader(*loop, requests[5]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_THAT(root.came, ElementsAre("refused 1", "5"));
  EXPECT_THAT(root.reported, ElementsAre(StartsWith("rank 1 on 127.0.0.2 fell silent while the group was "
                                                    "forming: no message for ")));
  EXPECT_EQ(leader.refused()->error, Lost(1).error);
  EXPECT_THAT(parent.came, ElementsAre("5", "leave")) << "it may continue, and must not report this process";
}

// The root blames those that it lacks.
TEST_F(JoinerTreeTest, ASilentLeaderIsReportedBeforeTheDeadlineOfTheRoot) {
  HaveShortSilence(seconds(60));
  constexpr uint64_t kSoon = 100;
  Above root(loop, requests[0], {kSoon, {0}, "127.0.0.1", false});
  Above parent(loop, requests[1], {kSoon, {1}, "127.0.0.2", true});
  root.AnswerWith(Lost(1));
  TestRank leader(*loop, requests[5]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_THAT(root.came, ElementsAre("refused 1", "5"));
}

// The root has formed the group, and no longer listens.
TEST_F(JoinerTreeTest, ASilentLeaderThatContinuesIsStillTheOneAbove) {
  HaveShortSilence(seconds(60));
  constexpr uint64_t kSoon = 100;
  Above parent(loop, requests[1], {kSoon, {1}, "127.0.0.2", true});
  TestRank leader(*loop, requests[5]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.accepted(); }));
  loop.For(milliseconds(200));
  EXPECT_FALSE(leader.ended());
  parent.Send(Lost(4));
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_EQ(leader.refused()->error, Lost(4).error);
  EXPECT_THAT(parent.came, ElementsAre("5"));
}

TEST_F(JoinerTreeTest, ALeaderThatIsNotAcceptedLeavesASilentOne) {
  HaveShortSilence(seconds(60));
  Above parent(loop, requests[1], {kRemaining, {1}, "127.0.0.2", true});
  Above beside(loop, requests[2], {kRemaining, {2}, "127.0.0.3", true});
  parent.HoldBack();
  TestRank leader(*loop, requests[5]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.accepted() && parent.came.size() == 2; }));
  EXPECT_THAT(parent.came, ElementsAre("5", "leave"));
  EXPECT_THAT(beside.came, ElementsAre("5"));
}

TEST_F(JoinerTreeTest, ALeaderThatWaitsSendsHeartbeatsToThoseBelow) {
  HaveShortSilence(seconds(60));
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  TestRank parent(*loop, requests[1]);
  parent.Start();
  LeaderBelow below(loop, requests[5], "127.0.0.2");
  ASSERT_TRUE(loop.Until([&] { return std::ranges::count(below.answers, ControlType::kHeartbeat) > 1; }));
}

TEST_F(JoinerTreeTest, ALeaderBelowARootThatEndsNamesItImmediately) {
  Above root(loop, requests[0], {kRemaining, {0}, "127.0.0.1", false});
  TestRank leader(*loop, requests[2]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return !root.came.empty(); }));
  loop.Settle();
  root.End();
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_EQ(leader.refused()->error, Lost(0).error);
}

}  // namespace
}  // namespace muster::rendezvous
