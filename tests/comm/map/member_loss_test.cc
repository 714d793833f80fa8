// Ranks of a map that end, are silent, or take too long: what becomes of their items.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "comm/map/member.h"
#include "tests/comm/map/members.h"

namespace muster::map {
namespace {

using ::testing::ElementsAre;

TEST(Map, ItemsOfALostRankGoToTheOthers) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(100));
  const auto second = JoinAs(groups, 1, Of(100));
  ASSERT_TRUE(*second->Next());
  groups.Kill(1);
  EXPECT_EQ(Work(*first), 100);
  EXPECT_EQ(first->Finish()->committed, 100);
  EXPECT_EQ(groups.failure(), std::nullopt);
  // The item at work counts one try that failed.
  EXPECT_EQ(first->Read(0, 1)->front().attempts, 2);
  EXPECT_EQ(first->Read(1, 1)->front().attempts, 1);
}

TEST(Map, AnItemThatKillsEachRankIsGivenUp) {
  GroupsInProcess groups(3);
  Options options;
  options.retries = 1;
  const auto first = JoinAs(groups, 0, Of(1), options);
  const auto second = JoinAs(groups, 1, Of(1), options);
  const auto third = JoinAs(groups, 2, Of(1), options);
  ASSERT_TRUE(*first->Next());
  groups.Kill(0);
  ASSERT_TRUE(*second->Next());
  groups.Kill(1);
  EXPECT_EQ(*third->Next(), std::nullopt);
  const auto outcome = third->Finish();
  EXPECT_EQ(outcome->poisoned, 1);
  EXPECT_THAT(outcome->first_poisoned, ElementsAre(0));
  const auto record = third->Read(0, 1)->front();
  EXPECT_EQ(record.ending, Ending::kPoisoned);
  EXPECT_EQ(AsText(record.payload), "rank 1 on gpu02 was killed, while at work on it");
}

TEST(Map, NamesTheRankThatIsLostWithAnotherOne) {
  GroupsInProcess groups(2);
  Options options;
  options.retries = 0;
  const auto first = JoinAs(groups, 0, Of(1), options);
  const auto second = JoinAs(groups, 1, Of(1), options);
  ASSERT_TRUE(*second->Next());
  groups.Kill(1, "rank 4 on gpu02 ended");
  EXPECT_EQ(*first->Next(), std::nullopt);
  EXPECT_EQ(first->Finish()->poisoned, 1);
  EXPECT_EQ(AsText(first->Read(0, 1)->front().payload),
            "rank 1 on gpu02 is lost (rank 4 on gpu02 ended), while at work on it");
}

TEST(Map, FailsTheGroupWhenTheLastRankIsLost) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(10));
  const auto second = JoinAs(groups, 1, Of(10));
  ASSERT_TRUE(*first->Next());
  ASSERT_TRUE(*second->Next());
  groups.Kill(0);
  EXPECT_EQ(groups.failure(), std::nullopt);
  groups.Kill(1);
  ASSERT_TRUE(groups.failure());
  EXPECT_EQ(groups.failure()->code, Code::kWorkFailed);
  EXPECT_EQ(groups.failure()->message,
            "no rank is left to work on the map: rank 1 on gpu02 was killed; 10 of 10 items are left");
}

TEST(Map, IsOverInOrderForARankThatComesWhenTheFirstHasLeft) {
  GroupsInProcess groups(2);
  {
    const auto first = JoinAs(groups, 0, Of(10));
    EXPECT_EQ(Work(*first), 10);
    EXPECT_EQ(first->Finish()->first_rank, 0);
  }
  groups.Leave(0);
  const auto second = JoinAs(groups, 1, Of(10));
  EXPECT_EQ(Work(*second), 0);
  EXPECT_EQ(second->Finish()->first_rank, 0);
}

TEST(Map, GoesOnWithRanksThatComeAfterTheLossOfTheOnlyOne) {
  GroupsInProcess groups(3);
  const auto first = JoinAs(groups, 0, Of(10));
  ASSERT_TRUE(*first->Next());
  groups.Kill(0);
  groups.Kill(1);
  EXPECT_EQ(groups.failure(), std::nullopt);
  EXPECT_TRUE(groups.tolerates());
  const auto last = JoinAs(groups, 2, Of(10));
  EXPECT_EQ(Work(*last), 10);
  EXPECT_EQ(last->Finish()->committed, 10);
}

TEST(Map, FailsTheGroupWhenNoneComesAfterTheLossOfTheOnlyOne) {
  GroupsInProcess groups(2);
  const auto first = JoinAs(groups, 0, Of(10));
  ASSERT_TRUE(*first->Next());
  groups.Kill(0);
  EXPECT_EQ(groups.failure(), std::nullopt);
  groups.Kill(1);
  ASSERT_TRUE(groups.failure());
  EXPECT_EQ(groups.failure()->message,
            "no rank is left to work on the map: rank 0 on gpu01 was killed; 10 of 10 items are left");
}

TEST(Map, IdleRankTakesWhatAnotherHasNotBegun) {
  GroupsInProcess groups(2);
  const auto slow = JoinAs(groups, 0, Of(4));
  const auto quick = JoinAs(groups, 1, Of(4));
  // In hand, and one more in its queue.
  const uint64_t kept = (*slow->Next())->index;
  EXPECT_EQ(kept, 0);
  std::thread worker([&] { EXPECT_EQ(Work(*quick), 3); });
  const auto all_but_one = [&] {
    const auto outcome = slow->Commit(kept, Key(kept), Format::kJson, Square(kept), seconds(5));
    EXPECT_TRUE(outcome);
  };
  // The quick rank waits in Next for the last item now, or is about to.
  all_but_one();
  worker.join();
  EXPECT_EQ(*slow->Next(), std::nullopt);
  EXPECT_EQ(slow->Finish()->committed, 4);
}

TEST(Map, ItemsOfASilentRankGoToTheOthersAndItsLateResultIsDropped) {
  GroupsInProcess groups(2, milliseconds(10));
  const auto silent = JoinAs(groups, 0, Of(3));
  const auto other = JoinAs(groups, 1, Of(3));
  const uint64_t kept = (*silent->Next())->index;
  groups.Stall(0);
  EXPECT_EQ(Work(*other), 3);
  groups.Continue(0);
  EXPECT_TRUE(silent->Commit(kept, Key(kept), Format::kJson, Text("late"), seconds(5)));
  EXPECT_EQ(*silent->Next(), std::nullopt);
  EXPECT_EQ(other->Finish()->committed, 3);
  EXPECT_EQ(ResultsOf(*other, 3), ExpectedResults(3));
}

// Else its launcher would wait for it for ever.
TEST(Map, ARankThatIsStoppedWhenTheMapIsOverFailsTheGroup) {
  GroupsInProcess groups(2, milliseconds(10));
  const auto other = JoinAs(groups, 0, Of(3));
  const auto stopped = JoinAs(groups, 1, Of(3));
  groups.Stall(1);
  EXPECT_EQ(Work(*other), 3);
  EXPECT_EQ(other->Finish()->committed, 3);
  groups.AwaitFailure();
  EXPECT_EQ(groups.failure()->message,
            "rank 1 on gpu02 does not answer although the map is over: its process is stopped or hangs");
  groups.Continue(1);
}

TEST(Map, ARankThatIsStoppedIsToleratedWhileTheNextMapIsAtWork) {
  GroupsInProcess groups(2, milliseconds(10));
  const auto other = JoinAs(groups, 0, Of(3));
  const auto stopped = JoinAs(groups, 1, Of(3));
  groups.Stall(1);
  EXPECT_EQ(Work(*other), 3);
  EXPECT_EQ(other->Finish()->committed, 3);
  const auto next = JoinAs(groups, 0, Of(2));
  std::this_thread::sleep_for(milliseconds(2500));  // the root queries it twice
  EXPECT_EQ(groups.failure(), std::nullopt);
  EXPECT_EQ(Work(*next), 2);
  groups.AwaitFailure();
  groups.Continue(1);
}

// It answers, although it has not left the map.
TEST(Map, ARankThatKeepsAMapThatIsOverDoesNotFailTheGroup) {
  GroupsInProcess groups(2, milliseconds(10));
  const auto other = JoinAs(groups, 0, Of(3));
  const auto late = JoinAs(groups, 1, Of(3));
  EXPECT_EQ(Work(*other), 3);
  EXPECT_EQ(other->Finish()->committed, 3);
  std::this_thread::sleep_for(milliseconds(2500));  // the root queries it twice
  EXPECT_EQ(groups.failure(), std::nullopt);
  EXPECT_EQ(late->Finish()->committed, 3);
}

TEST(Map, ARankThatNeedsTooLongIsEndedAndItsItemGoesToAnother) {
  GroupsInProcess groups(2);
  Options options;
  options.timeout = milliseconds(1);
  const auto hangs = JoinAs(groups, 0, Of(3), options);
  const auto other = JoinAs(groups, 1, Of(3), options);
  const uint64_t kept = (*hangs->Next())->index;
  std::thread worker([&] { EXPECT_EQ(Work(*other), 3); });
  groups.AwaitOrderToEnd(0);
  groups.Kill(0);
  worker.join();
  EXPECT_EQ(other->Finish()->committed, 3);
  EXPECT_EQ(other->Read(kept, 1)->front().attempts, 2);
}

// It does something else between two items.
TEST(Map, AnItemOutOfTimeThatWasNotBegunGoesBack) {
  GroupsInProcess groups(2);
  groups.ObeyOrdersToEnd();
  Options options;
  options.timeout = milliseconds(1);
  const auto busy = JoinAs(groups, 0, Of(3), options);
  const auto other = JoinAs(groups, 1, Of(3), options);
  const uint64_t first = (*busy->Next())->index;
  EXPECT_TRUE(busy->Commit(first, Key(first), Format::kJson, Square(first), milliseconds(1)));
  EXPECT_EQ(Work(*other), 2);
  EXPECT_EQ(*busy->Next(), std::nullopt);
  EXPECT_EQ(busy->Finish()->committed, 3);
}

// The root counts from the end of the item before; meanwhile the rank did something else, or waited for the disk.
TEST(Map, AnItemInHandHasItsWholeTime) {
  GroupsInProcess groups(1);
  groups.ObeyOrdersToEnd();
  Options options;
  options.timeout = std::chrono::hours(1);
  const auto busy = JoinAs(groups, 0, Of(2), options);
  const uint64_t first = (*busy->Next())->index;
  groups.OrderToEnd(0, first);
  EXPECT_TRUE(busy->Commit(first, Key(first), Format::kJson, Square(first), milliseconds(1)));
  EXPECT_EQ(Work(*busy), 1);
  EXPECT_EQ(busy->Finish()->committed, 2);
}

TEST(MapDeathTest, AnItemOutOfTimeEndsItsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        GroupsInProcess groups(1);
        groups.ObeyOrdersToEnd();
        Options options;
        options.timeout = milliseconds(1);
        options.end_children = [] { std::fputs("its programs have ended\n", stderr); };
        const auto member = JoinAs(groups, 0, Of(1), options);
        (void)member->Next();
        // There is no other item: this waits.
        (void)member->Next();
      },
      testing::ExitedWithCode(75),
      "this process ends: item 0 of the map is out of time.*\nits programs have ended");
}

}  // namespace
}  // namespace muster::map
