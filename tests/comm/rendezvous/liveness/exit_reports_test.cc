#include "comm/rendezvous/liveness/exit_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    rank(3).plane().Fail({{Code::kPeerLost, "rank 3 failed", ""}, 3, 9, ""});
    ASSERT_TRUE(loop.Until([&] {
      for (size_t i = 0; i < 5; ++i) {
        if (rank(i).everyone_knows == 0) return false;
      }
      return true;
    }));
  }
  TestRank& rank(size_t number) { return (*group)[number]; }
  void Finish(size_t number, Duration patience = seconds(60)) {
    rank(number).plane().FinishEnds({EndOf(static_cast<int>(number))}, patience);
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
    rank(number).plane().SendExitReport({EndOf(static_cast<int>(number))});
    rank(number).plane().Leave();
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
  EXPECT_FALSE(rank(0).plane().failure_is_from_parent());
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(rank(i).plane().failure_is_from_parent()) << i;
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
  for (const size_t i : {1U, 2U, 4U}) EXPECT_FALSE(rank(i).plane().failure_is_from_parent()) << i;
  EXPECT_TRUE(rank(3).plane().failure_is_from_parent());
}

}  // namespace
}  // namespace muster::rendezvous
