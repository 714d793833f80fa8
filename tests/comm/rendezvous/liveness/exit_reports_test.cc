#include "comm/rendezvous/liveness/exit_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Rank 0 is the root, on a with rank 1; rank 2 leads b with rank 3; rank 4 is alone on c.
class ExitReportsTest : public testing::Test {
 protected:
  void Form() {
    group = std::make_unique<TestGroup>(loop, MakeRequests({"a", "a", "b", "b", "c"}));
    ASSERT_TRUE(group->AllFormed());
  }
  void Break() {
    rank(3).plane().failures().Fail({{Code::kPeerLost, "rank 3 failed", ""}, 3, 9, ""});
    ASSERT_TRUE(loop.Until([&] {
      for (size_t i = 0; i < 5; ++i) {
        if (rank(i).everyone_knows == 0) return false;
      }
      return true;
    }));
  }
  TestRank& rank(size_t number) { return (*group)[number]; }
  void Finish(size_t number, Duration patience = seconds(60)) {
    rank(number).plane().exit_reports().Finish({EndOf(static_cast<int>(number))}, patience);
  }
  bool Told(size_t number) { return rank(number).ends_told == 1; }
  static RankEnd EndOf(int rank) {
    RankEnd end;
    end.rank = rank;
    end.signal = 15;
    return end;
  }

  net::TestLoop loop;
  std::unique_ptr<TestGroup> group;
};

TEST_F(ExitReportsTest, TheRootHearsOfAllAndEndsLast) {
  Form();
  Break();
  for (const size_t number : {0U, 2U, 4U}) Finish(number);
  ASSERT_TRUE(loop.Until([&] { return Told(4); }));
  loop.For(milliseconds(50));
  EXPECT_FALSE(Told(2));
  EXPECT_FALSE(Told(0));
  Finish(3);
  ASSERT_TRUE(loop.Until([&] { return Told(3) && Told(2); }));
  EXPECT_FALSE(Told(0));
  Finish(1);
  ASSERT_TRUE(loop.Until([&] { return Told(0) && Told(1); }));
  EXPECT_THAT(rank(0).ends, UnorderedElementsAre(EndOf(0), EndOf(1), EndOf(2), EndOf(3), EndOf(4)));
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(rank(i).ends.empty());
}

TEST_F(ExitReportsTest, NobodyWaitsForWhoIsGone) {
  Form();
  Break();
  for (const size_t number : {0U, 1U, 2U, 4U}) Finish(number);
  ASSERT_TRUE(loop.Until([&] { return Told(4) && Told(1); }));
  EXPECT_FALSE(Told(0));
  group->Kill(3);
  ASSERT_TRUE(loop.Until([&] { return Told(0) && Told(2); }));
  EXPECT_THAT(rank(0).ends, UnorderedElementsAre(EndOf(0), EndOf(1), EndOf(2), EndOf(4)));
}

TEST_F(ExitReportsTest, PatienceHasAnEnd) {
  Form();
  Break();
  Finish(0, milliseconds(50));
  ASSERT_TRUE(loop.Until([&] { return Told(0); }));
  EXPECT_THAT(rank(0).ends, ElementsAre(EndOf(0)));
}

TEST_F(ExitReportsTest, WithoutARootALeaderEnds) {
  Form();
  Break();
  Finish(2);
  Finish(3);
  ASSERT_TRUE(loop.Until([&] { return Told(3); }));
  group->Kill(0);
  ASSERT_TRUE(loop.Until([&] { return Told(2); }));
  Finish(4);
  ASSERT_TRUE(loop.Until([&] { return Told(4); }));
}

TEST_F(ExitReportsTest, AGroupThatIsWellTellsBeforeItLeaves) {
  Form();
  for (size_t number = 0; number < 5; ++number) {
    rank(number).plane().exit_reports().Send({EndOf(static_cast<int>(number))});
    rank(number).plane().leaving().Leave();
  }
  ASSERT_TRUE(loop.Until([&] {
    // A process that is released ends, and hangs up.
    for (size_t number = 1; number < 5; ++number) {
      if (group->alive(number) && rank(number).released == 1) group->Kill(number);
    }
    return rank(0).released == 1;
  }));
  EXPECT_THAT(rank(0).ends, UnorderedElementsAre(EndOf(0), EndOf(1), EndOf(2), EndOf(3), EndOf(4)));
  EXPECT_EQ(rank(0).ends_told, 0);
  EXPECT_TRUE(rank(0).failures.empty());
}

TEST_F(ExitReportsTest, AFailureThatCameFromAboveWasTold) {
  Form();
  Break();
  EXPECT_FALSE(rank(0).plane().failures().from_parent());
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(rank(i).plane().failures().from_parent()) << i;
}

TEST_F(ExitReportsTest, TheLossOfTheRootIsToldByItsLeadersAndItsNode) {
  Form();
  group->Kill(0);
  ASSERT_TRUE(loop.Until([&] {
    for (size_t i = 1; i < 5; ++i) {
      if (rank(i).failures.empty()) return false;
    }
    return true;
  }));
  for (const size_t i : {1U, 2U, 4U}) EXPECT_FALSE(rank(i).plane().failures().from_parent()) << i;
  EXPECT_TRUE(rank(3).plane().failures().from_parent());
}

// A leader, rank 1, with the leader of ranks 2 and 3 below it.
class ExitReportsOfALeaderTest : public testing::Test {
 protected:
  void Start(bool is_root) {
    reports.reset();
    auto [near, far] = net::SocketPair();
    root = std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage);
    root->Start([this](ByteView frame) { at_root.push_back(*Decode<ExitReport>(frame)); },
                [](const Error&) {});
    auto upstream = std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage);
    upstream->Start([](ByteView) {}, [](const Error&) {});
    auto [below, leader_end] = net::SocketPair();
    leader = std::move(leader_end);
    auto children = std::make_unique<ChildLinks>();
    child = children->Add(std::make_unique<net::FrameStream>(*loop, std::move(below), kLongestMessage),
                          "rank 2", false);
    children->Find(child)->ranks = {2, 3};
    links = std::make_unique<TreeLinks>(*loop, is_root ? nullptr : std::move(upstream), std::move(children));
    reports = std::make_unique<ExitReports>(
        *links, 4,
        ExitReports::Events{[this](const auto& ends) { std::ranges::copy(ends, std::back_inserter(known)); },
                            [this] { ++told; },
                            [this](const auto& ends) {
                              handed_over = ends;
                              return has_detour;
                            }});
  }
  static std::vector<RankEnd> EndsOf(const std::vector<int>& ranks) {
    std::vector<RankEnd> ends;
    for (const int rank : ranks) ends.push_back({.rank = rank});
    return ends;
  }
  void LoseChild(const std::vector<int>& behind) {
    const auto gone = links->children().all().extract(child);
    reports->Lose(child, behind);
  }

  net::TestLoop loop;
  std::unique_ptr<net::FrameStream> root;
  std::vector<ExitReport> at_root;
  UniqueFd leader;
  ChildLinks::Source child = 0;
  std::unique_ptr<TreeLinks> links;
  bool has_detour = true;
  std::vector<RankEnd> known;
  std::vector<RankEnd> handed_over;
  int told = 0;
  std::unique_ptr<ExitReports> reports;
};

TEST_F(ExitReportsOfALeaderTest, TheReportsOfItsSubtreeAreOneMessage) {
  Start(false);
  reports->Finish(EndsOf({1}), seconds(60));
  reports->Receive(child, Encode(ExitReport{EndsOf({2}), false}));
  reports->Receive(child, Encode(ExitReport{EndsOf({3}), true}));
  ASSERT_TRUE(loop.Until([&] { return !at_root.empty(); }));
  EXPECT_THAT(at_root, ElementsAre(ExitReport{EndsOf({1, 2, 3}), true}));
}

TEST_F(ExitReportsOfALeaderTest, AReportDoesNotWaitForAProcessBelow) {
  Start(false);
  reports->Finish(EndsOf({1}), seconds(60));
  ASSERT_TRUE(loop.Until([&] { return !at_root.empty(); }));
  reports->Receive(child, Encode(ExitReport{EndsOf({2, 3}), true}));
  ASSERT_TRUE(loop.Until([&] { return at_root.size() == 2; }));
  EXPECT_THAT(at_root, ElementsAre(ExitReport{EndsOf({1}), false}, ExitReport{EndsOf({2, 3}), true}));
}

TEST_F(ExitReportsOfALeaderTest, RanksBehindALostLeaderAreAwaited) {
  Start(true);
  LoseChild({3});
  reports->Finish(EndsOf({1}), seconds(60));
  loop.For(milliseconds(30));
  EXPECT_EQ(told, 0);
  reports->TakeOver(EndsOf({3}));
  EXPECT_EQ(told, 1);
  EXPECT_THAT(known, ElementsAre(EndsOf({1})[0], EndsOf({3})[0]));
}

TEST_F(ExitReportsOfALeaderTest, RanksBehindALostLeaderThatAreLostAsWellAreNotAwaited) {
  Start(true);
  LoseChild({2, 3});
  reports->Finish(EndsOf({1}), seconds(60));
  reports->GiveUpBehind({3});
  EXPECT_EQ(told, 0);
  reports->GiveUpBehind({2});
  EXPECT_EQ(told, 1);
  EXPECT_THAT(known, ElementsAre(EndsOf({1})[0]));
}

TEST_F(ExitReportsOfALeaderTest, NoLeaderWaitsForRanksThatHaveReported) {
  Start(true);
  reports->Receive(child, Encode(ExitReport{EndsOf({3}), false}));
  LoseChild({3});
  reports->Finish(EndsOf({1}), seconds(60));
  EXPECT_EQ(told, 1);
}

TEST_F(ExitReportsOfALeaderTest, TheWaitForRanksBehindALostLeaderHasAnEnd) {
  Start(true);
  LoseChild({3});
  reports->Finish(EndsOf({1}), milliseconds(30));
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(loop.Until([&] { return told == 1; }));
}

TEST_F(ExitReportsOfALeaderTest, WithoutTheRootAllReportsGoAroundIt) {
  for (const bool detour : {true, false}) {
    Start(false);
    told = 0;
    has_detour = detour;
    reports->Receive(child, Encode(ExitReport{EndsOf({2}), false}));
    loop.For(milliseconds(30));
    links->DropUpstream();
    reports->LoseUpstream();
    reports->Receive(child, Encode(ExitReport{EndsOf({3}), true}));
    reports->Finish(EndsOf({1}), seconds(60));
    EXPECT_THAT(handed_over, ElementsAre(EndsOf({2})[0], EndsOf({3})[0], EndsOf({1})[0]));
    EXPECT_EQ(told, detour ? 0 : 1);
    reports->Released();
    EXPECT_EQ(told, 1);
  }
}

TEST_F(ExitReportsOfALeaderTest, AReportThatTheRootHasNotConfirmedGoesAroundIt) {
  Start(false);
  reports->Receive(child, Encode(ExitReport{EndsOf({2, 3}), true}));
  reports->Finish(EndsOf({1}), seconds(60));
  links->DropUpstream();
  reports->LoseUpstream();
  EXPECT_THAT(handed_over, UnorderedElementsAre(EndsOf({1})[0], EndsOf({2})[0], EndsOf({3})[0]));
}

TEST_F(ExitReportsOfALeaderTest, AReportIsAboveBeforeTheRankHasLeft) {
  Start(false);
  reports->Send(EndsOf({1}));
  reports->Flush();
  loop.For(milliseconds(1));
  EXPECT_THAT(at_root, ElementsAre(ExitReport{EndsOf({1}), false}));
}

}  // namespace
}  // namespace muster::rendezvous
