#include "comm/rendezvous/control/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/control/control_plane_fixture.h"

namespace {
std::chrono::milliseconds idle{};
}

// In place of that of the C library: counts the waits for a timer.
extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  const int count = epoll_pwait(epoll, events, most, milliseconds, nullptr);
  if (count == 0) idle += std::chrono::milliseconds(milliseconds);
  return count;
}

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

KeyedAllGather Part(int rank, Bytes bytes, uint64_t timeout_milliseconds = 10000) {
  return {"addresses", timeout_milliseconds, {{rank, std::move(bytes)}}};
}

TEST_F(ControlPlaneTest, AnExchangeReachesAll) {
  Form();
  for (int number : {3, 0, 4, 1})
    rank(static_cast<size_t>(number)).plane().exchanges().Contribute(Part(number, {uint8_t(number)}));
  loop.For(milliseconds(20));
  EXPECT_TRUE(rank(0).exchanged.empty());
  rank(2).plane().exchanges().Contribute(Part(2, {2}));
  ASSERT_TRUE(loop.Until([&] {
    for (size_t i = 0; i < 5; ++i) {
      if (rank(i).exchanged.size() != 1) return false;
    }
    return true;
  }));
  const KeyedAllGather whole{"addresses", 0, {{0, {0}}, {1, {1}}, {2, {2}}, {3, {3}}, {4, {4}}}};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rank(i).exchanged.front(), whole);
}

TEST_F(ControlPlaneTest, AnExchangeWithoutAllNamesTheMissing) {
  Form();
  for (int number : {0, 2, 4})
    rank(static_cast<size_t>(number)).plane().exchanges().Contribute(Part(number, {}, 50));
  EXPECT_TRUE(group->AllToldOf(
      {Code::kDeadline,
       "the exchange \"addresses\" was not complete after 50ms: ranks 1 on a, 3 on b did not "
       "take part",
       ""}));
  EXPECT_EQ(rank(4).failures.front().rank, 1);
}

TEST_F(ControlPlaneTest, AnExchangeWithoutADeadlineDoesNotEndAtOnce) {
  Form();
  rank(0).plane().exchanges().Contribute(Part(0, {}, MillisecondsLeft(Deadline::Never())));
  rank(2).plane().exchanges().Contribute({"other", std::numeric_limits<uint64_t>::max(), {{2, {}}}});
  loop.For(milliseconds(50));
  EXPECT_TRUE(rank(0).failures.empty());
}

TEST_F(ControlPlaneTest, TheFirstFailureIsEverybodys) {
  Form();
  const Failure first{{Code::kDisagreement, "rank 3 is in Barrier", "look"}, 3, 9, "last words"};
  rank(3).plane().failures().Fail(first);
  EXPECT_TRUE(group->AllToldOf(first.error));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rank(i).failures.front(), first);
  rank(4).plane().failures().Fail({{Code::kInternal, "second", ""}, 4, -1, ""});
  rank(0).plane().failures().Fail({{Code::kInternal, "third", ""}, 0, -1, ""});
  loop.For(milliseconds(20));
  EXPECT_TRUE(group->AllToldOf(first.error));
}

TEST_F(ControlPlaneTest, OfTwoFailuresTheRootChoosesOneForAll) {
  Form();
  rank(4).plane().failures().Fail({{Code::kInternal, "of 4", ""}, 4, -1, ""});
  rank(3).plane().failures().Fail({{Code::kInternal, "of 3", ""}, 3, -1, ""});
  rank(1).plane().failures().Fail({{Code::kInternal, "of 1", ""}, 1, -1, ""});
  ASSERT_TRUE(loop.Until([&] { return !rank(0).failures.empty(); }));
  EXPECT_TRUE(group->AllToldOf(rank(0).failures.front().error));
}

// The failure of another rank is perhaps a consequence of it.
TEST_F(ControlPlaneTest, AFailureThatIsDueIsTheFirst) {
  Form();
  const Failure first{{Code::kInternal, "of 3", ""}, 3, -1, ""};
  rank(3).plane().failures().Await(3, seconds(30));
  ASSERT_TRUE(Exchange());
  rank(0).plane().failures().Fail({{Code::kInternal, "of 0", ""}, 0, -1, ""});
  EXPECT_TRUE(rank(0).failures.empty());
  rank(3).plane().failures().Fail(first);
  EXPECT_TRUE(group->AllToldOf(first.error));
}

TEST_F(ControlPlaneTest, AFailureThatIsDueAndDoesNotComeOnlyDelaysTheNext) {
  Form();
  rank(3).plane().failures().Await(3, milliseconds(1));
  ASSERT_TRUE(Exchange());
  rank(0).plane().failures().Fail({{Code::kInternal, "of 0", ""}, 0, -1, ""});
  EXPECT_TRUE(group->AllToldOf({Code::kInternal, "of 0", ""}));
}

TEST_F(ControlPlaneTest, EveryoneKnowsWhenTheLastWasTold) {
  Form();
  rank(0).plane().failures().Fail({{Code::kInternal, "x", ""}, 0, -1, ""});
  EXPECT_EQ(rank(0).everyone_knows, 0);
  ASSERT_TRUE(loop.Until([&] {
    for (size_t i = 0; i < 5; ++i) {
      if (rank(i).everyone_knows != 1) return false;
    }
    return true;
  }));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rank(i).failures.size(), 1u);
}

TEST_F(ControlPlaneTest, WhoHangsUpAtAFailureKnowsOfIt) {
  Form();
  rank(4).plane().failures().Fail({{Code::kInternal, "x", ""}, 4, -1, ""});
  ASSERT_TRUE(loop.Until([&] { return !rank(2).failures.empty(); }));
  group->Kill(2);
  group->Kill(4);
  ASSERT_TRUE(loop.Until([&] { return rank(0).everyone_knows == 1 && rank(3).everyone_knows == 1; }));
}

struct Loss {
  const char* name;
  size_t killed;
  const char* message;
};
class LossTest : public ControlPlaneTest, public testing::WithParamInterface<Loss> {};

TEST_P(LossTest, IsToldToAllByName) {
  Form();
  group->Kill(GetParam().killed);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, GetParam().message, ""}));
  for (size_t i = 0; i < 5; ++i) {
    if (!group->alive(i)) continue;
    EXPECT_EQ(rank(i).failures.front().rank, static_cast<int>(GetParam().killed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LossTest,
                         testing::Values(Loss{"Root", 0, "rank 0 on a ended without leaving its group"},
                                         Loss{"FollowerOfRoot", 1,
                                              "rank 1 on a ended without leaving its group"},
                                         Loss{"Leader", 2, "rank 2 on b ended without leaving its group"},
                                         Loss{"Follower", 3, "rank 3 on b ended without leaving its group"},
                                         Loss{"Alone", 4, "rank 4 on c ended without leaving its group"}),
                         [](const auto& given) { return given.param.name; });

TEST_F(ControlPlaneTest, WhatALeaderFoundOutReachesItsFollowersAlsoWhenItEnds) {
  Form();
  const Error error{Code::kDisagreement, "rank 2 found out", ""};
  rank(2).plane().failures().Fail({error, 2, -1, ""});
  group->Kill(2);
  EXPECT_TRUE(group->AllToldOf(error));
}

// ---- leaving

class LeaveTest : public ControlPlaneTest, public testing::WithParamInterface<std::vector<size_t>> {};

// Each process goes as soon as it is released, as in real life.
TEST_P(LeaveTest, InAnyOrderIsNoFailure) {
  Form();
  std::set<size_t> gone;
  const auto let_go = [&] {
    for (size_t i = 0; i < 5; ++i) {
      if (!gone.contains(i)) {
        EXPECT_TRUE(rank(i).failures.empty()) << i << ": " << rank(i).failures.front().error.message;
      }
      if (!gone.contains(i) && Released(i)) {
        group->Kill(i);
        gone.insert(i);
      }
    }
  };
  for (const size_t leaver : GetParam()) {
    rank(leaver).plane().leaving().Leave();
    rank(leaver).plane().leaving().Leave();
    loop.Settle();
    let_go();
  }
  idle = {};
  ASSERT_TRUE(loop.Until([&] {
    let_go();
    return gone.size() == 5;
  }));
  EXPECT_LT(idle, milliseconds(500)) << "nobody needs to wait for the final message's end";
}

INSTANTIATE_TEST_SUITE_P(Orders, LeaveTest,
                         testing::Values(std::vector<size_t>{0, 1, 2, 3, 4},
                                         std::vector<size_t>{4, 3, 2, 1, 0},
                                         std::vector<size_t>{2, 0, 3, 4, 1},
                                         std::vector<size_t>{3, 1, 0, 2, 4},
                                         std::vector<size_t>{1, 2, 3, 4, 0}));

TEST_F(ControlPlaneTest, AFollowerIsReleasedEarlyTheOthersWhenNobodyNeedsThem) {
  Form();
  rank(3).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return Released(3); }));
  rank(0).plane().leaving().Leave();
  rank(2).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return Released(2); }));
  EXPECT_FALSE(Released(0));
}

// The root waited for the exit report of such a rank, which had ended.
TEST_F(ControlPlaneTest, ARankIsReleasedOnceItsLeaveMessageHasGoneUp) {
  Form();
  rank(3).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return Released(3); }));
  group->Kill(2);
  ASSERT_TRUE(loop.Until([&] { return !rank(0).failures.empty(); }));
  EXPECT_TRUE(rank(0).plane().HasLeft(3));
}

TEST_F(ControlPlaneTest, WhoHasSaidGoodbyeMayEnd) {
  Form();
  rank(4).plane().leaving().Leave();
  loop.Settle();
  group->Kill(4);
  loop.For(milliseconds(100));
  for (const size_t i : {0, 1, 2, 3}) EXPECT_TRUE(rank(i).failures.empty());
}

TEST_F(ControlPlaneTest, ADeathAfterTheGoodbyesOfOthersIsStillOne) {
  Form();
  rank(0).plane().leaving().Leave();
  rank(1).plane().leaving().Leave();
  loop.Settle();
  group->Kill(3);
  group->Kill(1);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 3 on b ended without leaving its group", ""}));
}

TEST_F(ControlPlaneTest, ALeaderThatEndsAfterItsGoodbyeIsNamedByAll) {
  Form();
  rank(2).plane().leaving().Leave();
  loop.Settle();
  group->Kill(2);
  ASSERT_TRUE(loop.Until([&] { return !rank(0).failures.empty() && !rank(3).failures.empty(); }));
  for (const int i : {0, 3}) {
    EXPECT_EQ(rank(i).failures.front().error.message, "rank 2 on b ended without leaving its group");
    EXPECT_EQ(rank(i).failures.front().rank, 2);
  }
}

// Seeds 7090777 and 8394250 of the simulation: the root released such a rank, which closed its connection, waited 10 s until all
// had the failure, and then 2 s for the answer to its exit report.
TEST_F(ControlPlaneTest, ARankWhoseLeaveMessageMeetsTheFailureWaitsForNothing) {
  Form();
  rank(0).plane().failures().Fail({{Code::kInternal, "x", ""}, 0, -1, ""});
  rank(4).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return rank(4).everyone_knows == 1; }));
  for (size_t i = 0; i < group->size(); ++i)
    rank(i).plane().exit_reports().Finish({{.rank = int(i)}}, seconds(10));
  idle = {};
  ASSERT_TRUE(loop.Until([&] { return rank(4).ends_told == 1; }));
  EXPECT_LT(idle, milliseconds(500));
}

// Seed 7090777 again: a leader whose ranks had all left ended before it had handed over their exit reports.
TEST_F(ControlPlaneTest, LeaveMessagesEndNoFailedGroup) {
  Form();
  rank(0).plane().failures().Fail({{Code::kInternal, "x", ""}, 0, -1, ""});
  for (size_t i = 0; i < group->size(); ++i) rank(i).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return rank(0).plane().HasLeft(4) && rank(0).plane().HasLeft(3); }));
  for (size_t i = 1; i < group->size(); ++i) group->Kill(i);
  loop.Settle();
  EXPECT_EQ(rank(0).released, 0);
}

TEST_F(ControlPlaneTest, ARootThatRetiresIsNoLoss) {
  Form();
  const LogCapture log;
  rank(0).plane().leaving().Leave();
  rank(0).plane().leaving().Retire();
  loop.Settle();
  group->Kill(0);
  loop.For(milliseconds(100));
  for (const size_t i : {1, 2, 3, 4}) EXPECT_TRUE(rank(i).failures.empty());
  EXPECT_THAT(
      log.Text(),
      HasSubstr("the group's control plane has ended; the end of a rank is not detected from now on"));
  // No node is left to wait for, except the own one.
  rank(4).plane().leaving().Leave();
  EXPECT_TRUE(Released(4));
  rank(2).plane().leaving().Leave();
  EXPECT_FALSE(Released(2));
  rank(3).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return Released(3); }));
  group->Kill(3);
  ASSERT_TRUE(loop.Until([&] { return Released(2); }));
}

TEST_F(ControlPlaneTest, ALeaderThatRetiresIsNoLossAndKeepsNobodyWaiting) {
  Form();
  const LogCapture log;
  rank(2).plane().leaving().Leave();
  rank(2).plane().leaving().Retire();
  loop.Settle();
  group->Kill(2);
  loop.For(milliseconds(100));
  for (const size_t i : {0, 1, 3, 4}) EXPECT_TRUE(rank(i).failures.empty()) << i;
  for (const size_t i : {0, 1, 4}) rank(i).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return Released(1) && Released(4); }));
  group->Kill(1);
  group->Kill(4);
  ASSERT_TRUE(loop.Until([&] { return Released(0); }));
}

// Rank 2 must not take the retirement of its leader for a loss.
TEST_F(ControlPlaneTest, ALeaderReleasesWhoHasLeftBeforeItRetires) {
  group = std::make_unique<TestGroup>(loop, MakeRequests({"a", "b", "b", "b"}));
  ASSERT_TRUE(group->AllFormed());
  const LogCapture log;
  rank(1).plane().leaving().Leave();
  rank(2).plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return rank(1).plane().HasLeft(2); }));
  rank(1).plane().leaving().Retire();
  ASSERT_TRUE(loop.Until([&] { return Released(2); }));
  loop.Settle();
  const std::string text = log.Text();
  const size_t first = text.find("control plane has ended");
  EXPECT_NE(first, std::string::npos);  // rank 3
  EXPECT_EQ(text.find("control plane has ended", first + 1), std::string::npos);
}

TEST_F(ControlPlaneTest, DamagedFramesAreIgnored) {
  Form();
  auto [near, far] = net::SocketPair();
  Joined joined{std::make_shared<const FormedGroup>(rank(0).plane().group()),
                std::make_unique<net::FrameStream>(*loop, std::move(near), 1000),
                std::make_unique<ChildLinks>(), nullptr, "the supervisor of rank 0 on a"};
  std::vector<Failure> told;
  ControlPlane::Events events;
  events.on_failure = [&](const Failure& failure) { told.push_back(failure); };
  ControlPlane plane(*loop, std::move(joined), {0}, LivenessOptions(), std::move(events));
  net::FrameStream peer(*loop, std::move(far), 1000);
  peer.Start([](ByteView) {}, [](const Error&) {});
  for (int type = 0; type < 256; ++type) {
    if (type == static_cast<int>(ControlType::kReleased)) continue;
    if (type == static_cast<int>(ControlType::kRetired)) continue;
    peer.Send(Bytes{static_cast<uint8_t>(type)});
    peer.Send(Bytes{static_cast<uint8_t>(type), 255, 255, 255, 255, 255});
  }
  peer.Send(Bytes{});
  loop.Settle();
  EXPECT_TRUE(told.empty());
  peer.CloseAfterFlush();
  ASSERT_TRUE(loop.Until([&] { return !told.empty(); }));
  EXPECT_EQ(told.front().error.message, "the supervisor of rank 0 on a ended without leaving its group");
}

}  // namespace
}  // namespace muster::rendezvous
