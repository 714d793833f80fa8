#include "comm/rendezvous/control/rejoin_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/map/messages.h"
#include "comm/rendezvous/link/names.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

// `muster run -- a && muster run -- b`: the same requests again, rank by rank.
class RejoinHandlerTest : public testing::Test {
 protected:
  explicit RejoinHandlerTest() : requests(MakeRequests({"a", "a", "b", "b"})), first(loop, requests) {
    EXPECT_TRUE(first.AllFormed());
  }
  // Ends its part in the first group and comes back for the second.
  void ComeBack(size_t rank) {
    first[rank].plane().leaving().Leave();
    ASSERT_TRUE(loop.Until([&] { return first[rank].released == 1; }));
    first.Kill(rank);
    second[rank] = std::make_unique<TestRank>(*loop, requests[rank]);
    second[rank]->Start();
  }

  net::TestLoop loop;
  const LogCapture log;
  std::vector<JoinRequest> requests;
  TestGroup first;
  std::map<size_t, std::unique_ptr<TestRank>> second;
};

TEST_F(RejoinHandlerTest, WhoComesBackEarlyWaitsForTheOthers) {
  ComeBack(3);
  ComeBack(1);
  ASSERT_TRUE(loop.Until(
      [&] { return log.Has("this launch's previous group is still at work; waiting for it to end"); }));
  loop.For(milliseconds(100));
  EXPECT_FALSE(second[3]->ended());
  EXPECT_FALSE(second[1]->ended());
  EXPECT_TRUE(first[0].failures.empty());
  ComeBack(2);
  ComeBack(0);
  ASSERT_TRUE(loop.Until(
      [&] { return std::ranges::all_of(second, [](const auto& entry) { return entry.second->ended(); }); }));
  for (const auto& [rank, again] : second) {
    ASSERT_TRUE(again->formed()) << rank << ": " << again->refused()->error.message;
    EXPECT_EQ(again->plane().group(), second[0]->plane().group());
  }
}

TEST(RejoinHandler, ASoleProcessHasNoSocketForOtherRanks) {
  for (const bool sole : {false, true}) {
    net::TestLoop loop;
    const net::TestBase base;
    JoinRequest request = MakeRequests({"a", "a"})[0];
    request.self.claims = {{0, 0, 2, {}}, {1, 1, 2, {}}};
    request.meeting.find_root = FindRoot::kSameNode;
    request.shared_directories = {base.path};
    request.sole = sole;
    TestRank process(*loop, request);
    process.Start();
    ASSERT_TRUE(loop.Until([&] { return process.ended(); }));
    ASSERT_TRUE(process.formed()) << process.refused()->error.message;
    EXPECT_EQ(base.Find(LocalSocketName(request.meeting.LocalKey(), "a")).has_value(), !sole);
  }
}

constexpr const char* kTwiceHint =
    "use two steps, because two programs of one rank cannot run at the same time; launches by hand that run "
    "at the "
    "same time need a MASTER_PORT each";

TEST_F(RejoinHandlerTest, ASecondProgramOfARankAtWorkIsRefused) {
  for (const size_t rank : {0, 1, 2, 3}) {
    TestRank twice(*loop, requests[rank]);
    twice.Start();
    ASSERT_TRUE(loop.Until([&] { return twice.ended(); }));
    EXPECT_EQ(twice.refused()->error,
              (Error{Code::kDisagreement,
                     fmt::format("rank {} on {} is already at work in this launch's present group, as pid {}",
                                 rank, rank < 2 ? "a" : "b", 1000 + rank),
                     kTwiceHint}));
  }
  EXPECT_TRUE(first[0].failures.empty());
}

TEST_F(RejoinHandlerTest, AlsoOnAnotherNodeThanItsOwn) {
  JoinRequest request = requests[1];
  request.self.node = "b";
  TestRank twice(*loop, request);
  twice.Start();
  ASSERT_TRUE(loop.Until([&] { return twice.ended(); }));
  EXPECT_EQ(twice.refused()->error.message,
            "rank 1 on a is already at work in this launch's present group, as pid 1001");
}

TEST_F(RejoinHandlerTest, WhileOthersHaveLeftAsWell) {
  first[3].plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return first[3].released == 1; }));
  TestRank twice(*loop, requests[1]);
  twice.Start();
  ASSERT_TRUE(loop.Until([&] { return twice.ended(); }));
  EXPECT_EQ(twice.refused()->error.code, Code::kDisagreement);
}

TEST_F(RejoinHandlerTest, AProcessOfAnEarlierLifeIsRefused) {
  for (JoinRequest& request : requests) request.self.agreement.restart = 1;
  for (JoinRequest& request : requests) request.meeting.key += " again";
  TestGroup second_life(loop, requests);
  ASSERT_TRUE(second_life.AllFormed());
  JoinRequest leftover = requests[3];
  leftover.self.agreement.restart = 0;
  TestRank old(*loop, leftover);
  old.Start();
  ASSERT_TRUE(loop.Until([&] { return old.ended(); }));
  EXPECT_EQ(old.refused()->error,
            (Error{Code::kDisagreement,
                   "the ranks disagree on the restart of the job: rank 3 on b has 0, rank 2 on b has 1",
                   "end the process that an earlier start of the job has left"}));
}

TEST_F(RejoinHandlerTest, AProcessOfALaterLifeWaitsForTheEarlierToEnd) {
  JoinRequest request = requests[3];
  request.self.agreement.restart = 1;
  TestRank later(*loop, request);
  later.Start();
  ASSERT_TRUE(
      loop.Until([&] { return log.Has("this launch's previous group is still at work; waiting for it"); }));
  EXPECT_FALSE(later.ended());
}

TEST_F(RejoinHandlerTest, AGroupThatHasFailedMakesRoomForTheNext) {
  first.Kill(3);
  const Error lost{Code::kPeerLost, "rank 3 on b ended without leaving its group", ""};
  ASSERT_TRUE(first.AllToldOf(lost));
  second[3] = std::make_unique<TestRank>(*loop, requests[3]);
  second[3]->Start();
  ASSERT_TRUE(
      loop.Until([&] { return log.Has("this launch's previous group is still at work; waiting for it"); }));
  for (const size_t rank : {2, 1, 0}) {
    first.Kill(rank);
    second[rank] = std::make_unique<TestRank>(*loop, requests[rank]);
    second[rank]->Start();
  }
  ASSERT_TRUE(loop.Until(
      [&] { return std::ranges::all_of(second, [](const auto& entry) { return entry.second->ended(); }); }));
  for (const auto& [rank, again] : second) EXPECT_TRUE(again->formed()) << rank;
}

TEST(RejoinHandler, TellsTheOnlyRankOfANodeAsWell) {
  net::TestLoop loop;
  const std::vector<JoinRequest> requests = MakeRequests({"a", "b"});
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  TestRank twice(*loop, requests[1]);
  twice.Start();
  ASSERT_TRUE(loop.Until([&] { return twice.ended(); }));
  EXPECT_EQ(twice.refused()->error.message,
            "rank 1 on b is already at work in this launch's present group, as pid 1001");
  EXPECT_TRUE(group[0].failures.empty() && group[1].failures.empty());
}

// At no moment is the name free for a second leader: it gets the refusal without a wait, instead of waiting
// for a group of its own.
TEST(RejoinHandler, ASecondLeaderIsToldWheneverItComes) {
  for (int round = 0; round < 20; ++round) {
    net::TestLoop loop;
    const std::vector<JoinRequest> requests = MakeRequests({"a", "a", "a"});
    std::vector<std::unique_ptr<TestRank>> ranks;
    for (const JoinRequest& request : requests) {
      ranks.push_back(std::make_unique<TestRank>(*loop, request));
      ranks.back()->Start();
    }
    // It comes while the group forms, or just after: it tries again and again.
    TestRank twice(*loop, requests[0]);
    ranks.push_back(nullptr);
    loop->After(milliseconds(round % 5), [&] { twice.Start(); });
    ASSERT_TRUE(loop.Until([&] { return twice.ended() && ranks[0]->ended(); })) << round;
    ASSERT_TRUE(twice.refused() || ranks[0]->refused()) << round;
    const Error& error = (twice.refused() ? twice : *ranks[0]).refused()->error;
    EXPECT_EQ(error.code, Code::kDisagreement) << error.message;
  }
}

// It had connected when the group formed, and spoke when it had formed.
TEST(RejoinHandler, WhoHadConnectedBeforeIsAnsweredToo) {
  net::TestLoop loop;
  const std::vector<JoinRequest> requests = MakeRequests({"a", "a"});
  TestRank leader(*loop, requests[0]);
  leader.Start();
  const LocalNames names =
      MakeLocalNames(requests[0].meeting.LocalKey(), "a", requests[0].shared_directories, getuid());
  UniqueFd early;
  ASSERT_TRUE(loop.Until([&] { return static_cast<bool>(early = DialLocal(names)); }));
  loop.Settle();
  TestRank follower(*loop, requests[1]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.formed() && follower.formed(); }));
  std::optional<Failure> told;
  net::FrameStream stream(*loop, std::move(early), kLongestMessage);
  stream.Start([&](ByteView frame) { told = *Decode<Failure>(frame); }, [](const Error&) {});
  stream.Send(Encode(HelloOf({requests[0].self})));
  ASSERT_TRUE(loop.Until([&] { return told.has_value(); }));
  EXPECT_EQ(told->error.message,
            "rank 0 on a is already at work in this launch's present group, as pid 1000");
  EXPECT_TRUE(leader.failures.empty());
}

// A leader ended after the group had formed, and before it had passed the roster on to rank 2.
class UnformedTest : public RejoinHandlerTest {
 protected:
  // To the report of `self`, a process below rank 1, from the leader of the root's node.
  Bytes AnswerTo(const ProcessInfo& self) {
    ProcessInfo lost{"a", 0, self.agreement, {{1, -1, -1, {}}}, EndedWhileForming("rank 1 on a")};
    const LocalNames names =
        MakeLocalNames(requests[0].meeting.LocalKey(), "a", requests[0].shared_directories, getuid());
    Bytes answer;
    net::FrameStream stream(*loop, DialLocal(names), kLongestMessage);
    stream.Start([&](ByteView frame) { answer.assign(frame.begin(), frame.end()); }, [](const Error&) {});
    stream.Send(Encode(HelloOf({lost, self})));
    EXPECT_TRUE(loop.Until([&] { return !answer.empty(); }));
    return answer;
  }
};

TEST_F(UnformedTest, AProcessWithoutItsRosterReceivesTheEndOfTheProcessAbove) {
  const Result<Failure> failure = Decode<Failure>(AnswerTo(requests[2].self));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error, EndedWhileForming("rank 1 on a"));
  EXPECT_EQ(failure->rank, 1);
}

TEST_F(UnformedTest, AProcessWithoutItsRosterReceivesTheFailureOfTheGroup) {
  first.Kill(1);
  const Error lost{Code::kPeerLost, "rank 1 on a ended without leaving its group", ""};
  ASSERT_TRUE(first.AllToldOf(lost));
  const Result<Failure> failure = Decode<Failure>(AnswerTo(requests[2].self));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error, lost);
}

// For the group it counts as left: it would wait for the end of the map, and then for a root until its deadline.
TEST_F(UnformedTest, AlsoWhenAMapGoesOnWithoutIt) {
  first[0].plane().maps().SendToRoot(0, map::Encode(0, map::Join{{1, {}, {}, "test"}, {}}));
  ASSERT_TRUE(loop.Until([&] { return first[0].plane().maps().tolerates(); }));
  first.Kill(2);
  ASSERT_TRUE(loop.Until([&] { return first[0].plane().HasLeft(2) && first[0].plane().HasLeft(3); }));
  const Result<Failure> failure = Decode<Failure>(AnswerTo(requests[3].self));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error, EndedWhileForming("rank 1 on a"));
}

TEST_F(UnformedTest, AProcessOfTheNextGroupWaitsAlthoughItReportsALoss) {
  first.Kill(1);
  ASSERT_TRUE(first.AllToldOf({Code::kPeerLost, "rank 1 on a ended without leaving its group", ""}));
  ProcessInfo next = requests[2].self;
  ++next.pid;
  EXPECT_EQ(ControlTypeOf(AnswerTo(next)), ControlType::kLater);
}

TEST_F(UnformedTest, AReportedLossIsNoClaimOfARankAtWork) {
  first[2].plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return first[2].plane().HasLeft(2) && first[0].plane().HasLeft(2); }));
  EXPECT_EQ(ControlTypeOf(AnswerTo(requests[2].self)), ControlType::kLater);
}

// `muster check && muster run --nproc-per-node 8`: its ranks are not those of the group at work.
TEST(RejoinHandler, AWorldOfAnotherSizeWaits) {
  net::TestLoop loop;
  const LogCapture log;
  const std::vector<JoinRequest> requests = MakeRequests({"a", "b"});
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  JoinRequest request = requests[1];
  request.self.agreement.world_size = 16;
  TestRank next(*loop, request);
  next.Start();
  ASSERT_TRUE(
      loop.Until([&] { return log.Has("this launch's previous group is still at work; waiting for it"); }));
  EXPECT_FALSE(next.ended());
}

}  // namespace
}  // namespace muster::rendezvous
