// Maps on the control plane of a whole group: messages reach the root and come back, and a rank that ends is no failure of
// the group while a map is at work.
#include "comm/rendezvous/control/map_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/map/messages.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using map::MessageType;
using testing::ElementsAre;

// Rank 0 is the root, on a with rank 1; rank 2 leads b with rank 3; rank 4 is alone on c.
class MapRelayTest : public testing::Test {
 protected:
  void SetUp() override {
    group = std::make_unique<TestGroup>(loop, std::vector<std::string>{"a", "a", "b", "b", "c"});
    ASSERT_TRUE(group->AllFormed());
  }
  TestRank& rank(size_t number) { return (*group)[number]; }

  void Send(size_t from, const Bytes& message) {
    rank(from).plane().maps().SendToRoot(static_cast<int>(from), message);
  }
  void Join(size_t from, uint64_t items = 10) {
    Send(from, map::Encode(0, map::Join{{items, {}, {}, "test"}, {}}));
    ASSERT_TRUE(loop.Until([&] { return Received(from, MessageType::kOpened); }));
  }
  bool Received(size_t by, MessageType type) {
    return std::ranges::any_of(rank(by).map_messages, [&](const auto& message) {
      return message.first == static_cast<int>(by) && map::HeadingOf(message.second)->type == type;
    });
  }
  std::vector<uint64_t> GrantedTo(size_t by) {
    std::vector<uint64_t> items;
    for (const auto& [to, message] : rank(by).map_messages) {
      if (const auto granted = map::Decode<map::Granted>(message)) {
        for (const auto& item : granted->items) items.push_back(item.index);
      }
    }
    return items;
  }
  void Want(size_t from) { Send(from, map::EncodeBare(MessageType::kWant, 0)); }
  bool AllTolerate(bool on) {
    return loop.Until([&] {
      for (size_t i = 0; i < group->size(); ++i) {
        if (group->alive(i) && rank(i).plane().maps().tolerates() != on) return false;
      }
      return true;
    });
  }
  bool NobodyFailed() {
    for (size_t i = 0; i < group->size(); ++i) {
      if (group->alive(i) && !rank(i).failures.empty()) return false;
    }
    return true;
  }

  net::TestLoop loop;
  LogCapture log;
  std::unique_ptr<TestGroup> group;
};

TEST_F(MapRelayTest, MessagesOfEachRankReachTheRootAndComeBack) {
  for (size_t i = 0; i < 5; ++i) Join(i);
  for (size_t i = 0; i < 5; ++i) {
    Want(i);
    ASSERT_TRUE(loop.Until([&] { return !GrantedTo(i).empty(); }));
  }
  EXPECT_THAT(GrantedTo(0), ElementsAre(0));
  EXPECT_THAT(GrantedTo(3), ElementsAre(3));
  EXPECT_TRUE(AllTolerate(true));
}

TEST_F(MapRelayTest, ASurveyFromAnyRankHasTheMap) {
  std::optional<Surveyed> answer;
  const auto ask = [&](size_t from) {
    answer.reset();
    rank(from).plane().survey().AskAll(std::chrono::seconds(30),
                                       [&](const Surveyed& surveyed) { answer = surveyed; });
    return loop.Until([&] { return answer.has_value(); });
  };
  ASSERT_TRUE(ask(3));
  EXPECT_THAT(answer->maps, testing::IsEmpty());
  for (size_t i = 0; i < 5; ++i) Join(i);
  Want(4);
  ASSERT_TRUE(loop.Until([&] { return !GrantedTo(4).empty(); }));
  for (const size_t from : {0U, 1U, 3U, 4U}) {
    ASSERT_TRUE(ask(from));
    ASSERT_EQ(answer->maps.size(), 1U);
    EXPECT_EQ(answer->maps[0].progress.granted, 1U);
    ASSERT_EQ(answer->maps[0].longest.size(), 1U);
    EXPECT_EQ(answer->maps[0].longest[0].rank, 4);
    EXPECT_EQ(answer->maps[0].ranks.size(), 5U);
  }
}

TEST_F(MapRelayTest, AGroupWithoutAMapToleratesNothing) {
  EXPECT_TRUE(AllTolerate(false));
  group->Kill(3);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 3 on b ended without leaving its group", ""}));
}

struct Loss {
  const char* name;
  size_t killed;
  size_t heir;
  std::vector<int> lost;
};
class MapLossTest : public MapRelayTest, public testing::WithParamInterface<Loss> {};

TEST_P(MapLossTest, ItemsGoToAnotherRankAndNobodyFails) {
  const Loss& loss = GetParam();
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  Want(loss.killed);
  ASSERT_TRUE(loop.Until([&] { return GrantedTo(loss.killed) == std::vector<uint64_t>{0}; }));
  Want(loss.heir);
  group->Kill(loss.killed);
  ASSERT_TRUE(loop.Until([&] { return GrantedTo(loss.heir) == std::vector<uint64_t>{0}; }));
  for (size_t i = 0; i < 5; ++i) {
    const bool is_lost = std::ranges::count(loss.lost, static_cast<int>(i)) > 0;
    EXPECT_TRUE(loop.Until([&] { return rank(0).plane().HasLeft(static_cast<int>(i)) == is_lost; })) << i;
    if (!group->alive(i) || is_lost) continue;
    EXPECT_TRUE(rank(i).failures.empty()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MapLossTest,
                         testing::Values(Loss{"FollowerOfRoot", 1, 4, {1}}, Loss{"Follower", 3, 2, {3}},
                                         Loss{"LeaderAndItsNode", 2, 1, {2, 3}}, Loss{"Alone", 4, 0, {4}}),
                         [](const auto& given) { return given.param.name; });

TEST_F(MapRelayTest, TheEndOfTheRootIsAFailure) {
  for (size_t i = 0; i < 5; ++i) Join(i);
  ASSERT_TRUE(AllTolerate(true));
  group->Kill(0);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 0 on a ended without leaving its group", ""}));
}

TEST_F(MapRelayTest, ARootThatRetiresLeavesNoRankWaitingForAMap) {
  rank(0).plane().leaving().Leave();
  rank(0).plane().leaving().Retire();
  loop.Settle();
  group->Kill(0);
  for (const size_t i : {1U, 2U, 3U, 4U}) {
    Send(i, map::Encode(0, map::Join{{10, {}, {}, "test"}, {}}));
    EXPECT_TRUE(loop.Until([&] { return Received(i, MessageType::kRefused); })) << i;
  }
}

// The root has these requests in its sockets, and reads none of them.
TEST_F(MapRelayTest, RequestsThatAreUnderWayWhenTheRootRetiresAreRefused) {
  for (const size_t i : {1U, 2U, 3U, 4U}) Send(i, map::Encode(0, map::Join{{10, {}, {}, "test"}, {}}));
  rank(0).plane().leaving().Leave();
  rank(0).plane().leaving().Retire();
  group->Kill(0);
  for (const size_t i : {1U, 2U, 3U, 4U}) {
    EXPECT_TRUE(loop.Until([&] { return Received(i, MessageType::kRefused); })) << i;
    const auto refused = map::Decode<map::Refused>(rank(i).map_messages.front().second);
    ASSERT_TRUE(refused) << i;
    EXPECT_EQ(refused->error.code, Code::kPeerLost);
    EXPECT_EQ(refused->error.message, "the group's control plane has ended, and no map can begin or go on");
  }
  EXPECT_TRUE(NobodyFailed());
}

TEST_F(MapRelayTest, ARankThatHasLeftItsMapIsNotRefused) {
  for (size_t i = 0; i < 5; ++i) Join(i, 0);
  for (const size_t i : {0U, 1U, 2U, 4U}) Send(i, map::EncodeBare(MessageType::kLeave, 0));
  ASSERT_TRUE(AllTolerate(false));
  rank(0).plane().leaving().Leave();
  rank(0).plane().leaving().Retire();
  group->Kill(0);
  EXPECT_TRUE(loop.Until([&] { return Received(3, MessageType::kRefused); }));
  for (const size_t i : {1U, 2U, 4U}) EXPECT_FALSE(Received(i, MessageType::kRefused)) << i;
}

TEST_F(MapRelayTest, ALossAfterTheMapIsAFailure) {
  for (size_t i = 0; i < 5; ++i) Join(i, 0);
  for (size_t i = 0; i < 5; ++i) Send(i, map::EncodeBare(MessageType::kLeave, 0));
  ASSERT_TRUE(AllTolerate(false));
  group->Kill(3);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 3 on b ended without leaving its group", ""}));
}

TEST_F(MapRelayTest, TheExitStatusOfARankThatTheMapHadMissedMayComeAfterTheMap) {
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  rank(3).plane().maps().Lose({{3}, ""});
  for (const size_t i : {0, 1, 2, 4}) Send(i, map::EncodeBare(MessageType::kStop, 0));
  ASSERT_TRUE(AllTolerate(false));
  const auto exit_of = [](int rank) {
    return Failure{{Code::kPeerLost, fmt::format("rank {} on b failed: exit 1", rank), ""}, rank, 1, ""};
  };
  rank(3).plane().maps().LoseProgram(exit_of(3));
  // Behind it on the same way.
  rank(3).map_messages.clear();
  Join(3, 1);
  EXPECT_TRUE(NobodyFailed());
  rank(2).plane().maps().LoseProgram(exit_of(2));
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 2 on b failed: exit 1", ""}));
}

// Not all of them have begun it when the rank is lost.
TEST_F(MapRelayTest, AnExchangeAmongSupervisorsIsCompleteWithoutTheLost) {
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  const auto contribute = [&](int from, const std::string& name) {
    rank(static_cast<size_t>(from))
        .plane()
        .exchanges()
        .Contribute({name, MillisecondsLeft(Deadline::Never()), {{from, {}}}});
  };
  contribute(2, "supervisors/begun before");
  group->Kill(4);
  ASSERT_TRUE(loop.Until([&] { return rank(0).plane().HasLeft(4); }));
  contribute(2, "supervisors/begun after");
  for (const int from : {0, 1, 3}) {
    contribute(from, "supervisors/begun before");
    contribute(from, "supervisors/begun after");
  }
  ASSERT_TRUE(loop.Until([&] { return rank(1).exchanged.size() == 2 || !NobodyFailed(); }));
  EXPECT_TRUE(NobodyFailed());
}

TEST_F(MapRelayTest, AnExchangeAmongProgramsNeedsTheLost) {
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  group->Kill(4);
  ASSERT_TRUE(loop.Until([&] { return rank(0).plane().HasLeft(4); }));
  rank(2).plane().exchanges().Contribute({"program 0/data endpoints", 100000, {{2, {}}}});
  EXPECT_TRUE(
      group->AllToldOf({Code::kPeerLost, "rank 4 on c ended before it took part in \"data endpoints\"",
                        "check that its program calls muster::Init and does not end early"}));
}

TEST_F(MapRelayTest, TheOthersLeaveWithoutTheLost) {
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  group->Kill(4);
  ASSERT_TRUE(loop.Until([&] { return rank(0).plane().HasLeft(4); }));
  for (size_t i = 0; i < 4; ++i) rank(i).plane().leaving().Leave();
  EXPECT_TRUE(loop.Until(
      [&] { return rank(0).released + rank(1).released + rank(2).released + rank(3).released == 4; }));
  EXPECT_TRUE(NobodyFailed());
}

TEST_F(MapRelayTest, AProgramThatEndsKeepsItsProcessInTheGroup) {
  for (size_t i = 0; i < 5; ++i) Join(i, 1);
  ASSERT_TRUE(AllTolerate(true));
  Want(3);
  ASSERT_TRUE(loop.Until([&] { return GrantedTo(3).size() == 1; }));
  Want(1);
  rank(3).plane().maps().LoseProgram(
      Failure{{Code::kPeerLost, "rank 3 on b failed: signal 9 (Killed)", ""}, 3, 137, ""});
  ASSERT_TRUE(loop.Until([&] { return GrantedTo(1).size() == 1; }));
  EXPECT_FALSE(rank(0).plane().HasLeft(3));
  EXPECT_TRUE(log.Has("rank 3 on b failed: signal 9 (Killed); 1 of its items go to other ranks"));
}

TEST_F(MapRelayTest, AnotherRanksNameIsNotBelieved) {
  for (size_t i = 0; i < 5; ++i) Join(i);
  rank(4).plane().maps().SendToRoot(1, map::EncodeBare(MessageType::kWant, 0));
  Want(2);
  ASSERT_TRUE(loop.Until([&] { return GrantedTo(2).size() == 1; }));
  EXPECT_THAT(GrantedTo(1), ElementsAre());
}

// Rank 2 has connected to the root while the leader of its node, rank 1, was stopped. This leader has sent the hello of rank 2 as well.
TEST(MapOfASilentLeader, GoesOnWithARankThatIsConnectedToTheRoot) {
  net::TestLoop loop;
  net::TestLoop stopped;
  std::vector<JoinRequest> requests = MakeRequests({"a", "b", "b", "c"});
  for (JoinRequest& request : requests) request.leader_patience = std::chrono::milliseconds(10);
  TestRank root(*loop, requests[0]);
  auto leader = std::make_unique<TestRank>(*stopped, requests[1]);
  TestRank follower(*loop, requests[2]);
  TestRank late(*loop, requests[3]);
  const auto together = [&](const std::function<bool()>& done) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(10));
    while (!done() && !deadline.Expired()) {
      loop->RunOnce(Deadline::After(std::chrono::milliseconds(1)));
      stopped->RunOnce(Deadline::After(std::chrono::milliseconds(1)));
    }
    return done();
  };
  root.Start();
  leader->Start();
  ASSERT_TRUE(together([&] { return root.Arrived(1) && leader->accepted(); }));
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return root.Arrived(2) && follower.accepted(); }));
  stopped.Settle();
  late.Start();
  ASSERT_TRUE(together([&] { return root.formed() && leader->formed() && follower.formed(); }));
  root.plane().maps().SendToRoot(0, map::Encode(0, map::Join{{1, {}, {}, "test"}, {}}));
  ASSERT_TRUE(loop.Until([&] { return root.plane().maps().tolerates(); }));
  leader.reset();
  ASSERT_TRUE(loop.Until([&] { return root.plane().HasLeft(1); }));
  EXPECT_FALSE(root.plane().HasLeft(2));
  EXPECT_EQ(follower.released, 0);
}

}  // namespace
}  // namespace muster::rendezvous
