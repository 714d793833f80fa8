#include "comm/rendezvous/survey/straggler_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

// Two ranks; the second is late, or has left.
class StragglerWatchTest : public testing::Test {
 protected:
  StragglerWatchTest() {
    roster.nodes = {{"gpu01", {}}};
    roster.members = {{0, 0, 1, {}}, {0, 1, 2, {}}};
    reports.resize(2);
    reports[0].state = reports[1].state = RankState::kInGroup;
    reports[1].rank = 1;
    reports[0].operations = {{kWorldCommunicator, true, true, "Barrier", 2, "", 100, {1}}};
    Start();
  }
  void Start(Duration after = milliseconds(50)) {
    watch = std::make_unique<StragglerWatch>(
        *loop, roster, after,
        [this](StragglerWatch::OnReports then) {
          ++asked;
          loop->Post([this, then = std::move(then)] { then(reports); });
        },
        [this](const WaitingCall& call) { hopeless = call.left; });
  }
  void Waits(uint64_t age) { reports[0].operations[0].milliseconds = age; }

  net::TestLoop loop;
  Roster roster;
  std::vector<RankReport> reports;
  int asked = 0;
  std::vector<int> hopeless;
  std::unique_ptr<StragglerWatch> watch;
};

TEST_F(StragglerWatchTest, AsksNobodyWhileNobodyIsLate) {
  loop.For(milliseconds(200));
  EXPECT_EQ(asked, 0);
}

TEST_F(StragglerWatchTest, SaysItOnceForAllWhoSaySo) {
  const LogCapture log;
  for (int i = 0; i < 100; ++i) watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return log.Has("Barrier #2"); }));
  EXPECT_EQ(log.Text(),
            "muster: Barrier #2 waits 0.1 s for rank 1 (gpu01), not seen in any operation so far\n");
  EXPECT_EQ(asked, 1);
}

TEST_F(StragglerWatchTest, SaysItAgainWhenTheWaitHasDoubled) {
  const LogCapture log;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return log.Has("waits 0.1 s"); }));
  Waits(150);
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked >= 2; }));
  loop.Settle();
  EXPECT_FALSE(log.Has("waits 0.1 s for rank 1 (gpu01), not seen in any operation so far\nmuster"));
  Waits(210);
  ASSERT_TRUE(loop.Until([&] { return log.Has("waits 0.2 s"); }));
}

TEST_F(StragglerWatchTest, StopsAskingWhenTheWaitIsOver) {
  const LogCapture log;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return log.Has("Barrier #2"); }));
  reports[0].operations[0].active = false;
  ASSERT_TRUE(loop.Until([&] { return asked == 2; }));
  loop.For(milliseconds(400));
  EXPECT_EQ(asked, 2);
}

TEST_F(StragglerWatchTest, WhoHasLeftWillNotCome) {
  const LogCapture log;
  reports[1].state = RankState::kLeft;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
  Waits(2'200);
  ASSERT_TRUE(loop.Until([&] { return hopeless == std::vector<int>{1}; }));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(log.Text(), "");
}

// A rank reports such a wait long before one for a straggler.
TEST_F(StragglerWatchTest, WhoHasLeftIsFoundBeforeAStraggler) {
  const LogCapture log;
  for (const Duration after : {Duration(std::chrono::hours(1)), Duration(std::chrono::seconds(10))}) {
    Start(after);
    asked = 0;
    hopeless.clear();
    Waits(500);
    reports[1].state = RankState::kInGroup;
    watch->OnLate();
    ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
    loop.Settle();
    reports[1].state = RankState::kLeft;
    watch->OnLate();
    ASSERT_TRUE(loop.Until([&] { return asked == 2; }));
    Waits(3'000);
    ASSERT_TRUE(loop.Until([&] { return hopeless == std::vector<int>{1}; }));
    EXPECT_EQ(asked, 3);
  }
  EXPECT_EQ(log.Text(), "");
}

// The programs of these ranks have formed their next group meanwhile, which begins with the same call.
TEST_F(StragglerWatchTest, ACallOfTheNextGroupIsAnotherOne) {
  Waits(3'000);
  reports[1].state = RankState::kLeft;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
  Waits(1'500);
  ASSERT_TRUE(loop.Until([&] { return asked == 2; }));
  loop.Settle();
  EXPECT_THAT(hopeless, testing::IsEmpty());
  Waits(5'000);
  ASSERT_TRUE(loop.Until([&] { return hopeless == std::vector<int>{1}; }));
}

// It left as soon as it had done its part, and the rank that waits for others had not noticed yet.
TEST_F(StragglerWatchTest, WhoHasLeftMayHaveDoneItsPart) {
  reports[1].state = RankState::kLeft;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
  for (int i = 0; i < 3; ++i) watch->OnLate();
  loop.For(milliseconds(300));
  EXPECT_EQ(asked, 2) << "a survey that another late rank begins decides nothing yet";
  reports[0].operations[0].waiting_for = {};
  ASSERT_TRUE(loop.Until([&] { return asked >= 3; }));
  loop.Settle();
  EXPECT_THAT(hopeless, testing::IsEmpty());
}

// The rank that waits reports that only once, and one survey without its report must not be the last.
TEST_F(StragglerWatchTest, AMissingReportOfTheRankThatWaitsEndsNothing) {
  const RankReport waits = reports[0];
  for (const RankState state : {RankState::kSilent, RankState::kProgram}) {
    Start();
    asked = 0;
    hopeless.clear();
    reports[0] = waits;
    reports[1].state = RankState::kLeft;
    watch->OnLate();
    ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
    loop.Settle();
    reports[0].state = state;
    reports[0].operations.clear();
    ASSERT_TRUE(loop.Until([&] { return asked == 2; }));
    loop.Settle();
    reports[0] = waits;
    Waits(4'000);
    ASSERT_TRUE(loop.Until([&] { return hopeless == std::vector<int>{1}; }));
    EXPECT_EQ(asked, 3) << "the first survey counts";
  }
}

TEST_F(StragglerWatchTest, AnIncompleteFirstSurveyIsRepeated) {
  const LogCapture log;
  const RankReport waits = std::exchange(reports[0], {});
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
  loop.Settle();
  reports[0] = waits;
  ASSERT_TRUE(loop.Until([&] { return log.Has("Barrier #2"); }));
  reports[0].operations[0].active = false;
  ASSERT_TRUE(loop.Until([&] { return asked == 3; }));
  loop.For(milliseconds(1200));
  EXPECT_EQ(asked, 3) << "all have reported, and no rank waits";
}

TEST_F(StragglerWatchTest, AProgramThatIsNotInTheGroupIsNotMissing) {
  reports[0].operations.clear();
  reports[1].state = RankState::kProgram;
  watch->OnLate();
  ASSERT_TRUE(loop.Until([&] { return asked == 1; }));
  loop.For(milliseconds(1200));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace muster::rendezvous
