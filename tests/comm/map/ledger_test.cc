#include "comm/map/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace muster::map {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Verdict = Ledger::Verdict;

const Clock::time_point kStart{};

std::vector<uint64_t> IndexesOf(const Ledger::Grant& grant) {
  std::vector<uint64_t> items;
  for (const GrantedItem& item : grant.items) items.push_back(item.index);
  return items;
}

// The answer to the rank's request; empty: nothing now.
std::vector<uint64_t> Ask(Ledger& ledger, int rank, Clock::time_point now = kStart) {
  ledger.Want(rank);
  for (const Ledger::Grant& grant : ledger.TakeGrants(now)) {
    if (grant.rank == rank) return IndexesOf(grant);
  }
  return {};
}

// Each on a node of its own.
Ledger OfRanks(uint64_t items, int ranks, int retries = 2) {
  Ledger ledger(items, retries);
  for (int rank = 0; rank < ranks; ++rank) ledger.Join({rank, rank}, 1);
  return ledger;
}

TEST(Ledger, FirstBatchIsOneItemASlotInOrder) {
  Ledger ledger = OfRanks(100, 2);
  ledger.Join({2, 2}, 3);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(0));
  EXPECT_THAT(Ask(ledger, 2), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(4));
}

TEST(Ledger, BatchesFollowTheTimeOfARanksItems) {
  Ledger ledger = OfRanks(100000, 2);
  Ask(ledger, 0);
  Ask(ledger, 1);
  EXPECT_EQ(ledger.Commit(0, 0, milliseconds(1), kStart), Verdict::kTaken);
  EXPECT_EQ(ledger.Commit(1, 1, milliseconds(5), kStart), Verdict::kTaken);
  EXPECT_EQ(Ask(ledger, 0).size(), 50);
  EXPECT_EQ(Ask(ledger, 1).size(), 10);
}

TEST(Ledger, BatchesShrinkTowardsTheEnd) {
  Ledger ledger = OfRanks(64, 2);
  Ask(ledger, 0);
  ledger.Commit(0, 0, milliseconds(1), kStart);
  std::vector<size_t> sizes;
  for (std::vector<uint64_t> batch = Ask(ledger, 0); !batch.empty(); batch = Ask(ledger, 0))
    sizes.push_back(batch.size());
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater()));
  EXPECT_EQ(sizes.front(), 15);
  EXPECT_EQ(sizes.back(), 1);
}

TEST(Ledger, SecondCommitIsCountedAndIgnored) {
  Ledger ledger = OfRanks(2, 2);
  Ask(ledger, 0);
  EXPECT_EQ(ledger.Share(0), 1);
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(0));
  EXPECT_EQ(ledger.Commit(0, 0, milliseconds(5), kStart), Verdict::kTaken);
  EXPECT_EQ(ledger.Commit(1, 0, milliseconds(5), kStart), Verdict::kIgnored);
  EXPECT_EQ(ledger.items().progress(), (Progress{2, 1, 0, 0, 0, 1}));
  EXPECT_EQ(ledger.Commit(0, 7, milliseconds(5), kStart), Verdict::kIgnored);
}

TEST(Ledger, FailedItemGoesToAnotherRankFirstAndIsGivenUpInTheEnd) {
  Ledger ledger = OfRanks(2, 2, 1);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(0));
  EXPECT_EQ(ledger.Fail(0, 0, {}, kStart), Verdict::kAgain);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1));
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(0));
  EXPECT_EQ(ledger.Fail(0, 0, {}, kStart), Verdict::kIgnored);
  EXPECT_EQ(ledger.Fail(1, 0, {}, kStart), Verdict::kPoisoned);
  EXPECT_EQ(ledger.items().AttemptsOf(0), 2);
  EXPECT_FALSE(ledger.IsOver());
  ledger.Commit(0, 1, milliseconds(1), kStart);
  EXPECT_TRUE(ledger.IsOver());
  EXPECT_EQ(ledger.items().progress(), (Progress{2, 1, 1, 0, 0, 0}));
}

TEST(Ledger, ARankReceivesItsOwnFailuresOnlyIfNobodyElseWorks) {
  Ledger ledger = OfRanks(1, 2);
  Ask(ledger, 0);
  ledger.Fail(0, 0, {}, kStart);
  ledger.Want(0);
  EXPECT_THAT(ledger.TakeGrants(kStart), IsEmpty());
  ledger.Stop(1);
  EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{0, {{0, 2}}}));
}

// Ranks 1, 2 and 3 are on one node, rank 0 is on another one.
Ledger OfTwoNodes(uint64_t items) {
  Ledger ledger(items, 2);
  for (int rank = 0; rank < 4; ++rank) ledger.Join({rank, rank == 0 ? 0 : 1}, 1);
  return ledger;
}

// As without a GPU, a module or a mount: every item would be given up there.
TEST(Ledger, ItemsThatFailOnABrokenNodeAreDoneOnAnotherOne) {
  Ledger ledger = OfTwoNodes(200);
  Clock::time_point now = kStart;
  while (!ledger.IsOver()) {
    ASSERT_LT(now - kStart, seconds(200)) << ledger.items().progress().left() << " items are not granted";
    const std::vector<uint64_t> items = Ask(ledger, 0, now);
    for (bool any = true; any;) {
      any = false;
      for (int rank = 1; rank < 4; ++rank) {
        for (const uint64_t item : Ask(ledger, rank, now)) {
          any = true;
          EXPECT_EQ(ledger.Fail(rank, item, milliseconds(1), now), Verdict::kAgain);
        }
      }
    }
    now += milliseconds(300);
    for (const uint64_t item : items)
      EXPECT_EQ(ledger.Commit(0, item, milliseconds(300), now), Verdict::kTaken);
  }
  EXPECT_EQ(ledger.items().progress(), (Progress{200, 200, 0, 0, 0, 0}));
}

// Rank 1's item 0 has failed, and ranks 2 and 3 wait for one.
Ledger WithAFailureOnNode1() {
  Ledger ledger = OfTwoNodes(2);
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(0));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1));
  ledger.Fail(1, 0, {}, kStart);
  for (int rank = 1; rank < 4; ++rank) EXPECT_THAT(Ask(ledger, rank), IsEmpty());
  return ledger;
}

TEST(Ledger, AnotherRankOfTheNodeGetsAFailedItemOnceNoOtherNodeWorks) {
  const auto expect_granted = [](Ledger& ledger) {
    EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{2, {{0, 2}}}));
    EXPECT_EQ(ledger.Fail(2, 0, {}, kStart), Verdict::kAgain);
    EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{1, {{0, 3}}})) << "not the same rank";
  };
  Ledger stopped = WithAFailureOnNode1();
  stopped.Stop(0);
  expect_granted(stopped);
  Ledger silent = WithAFailureOnNode1();
  silent.Share(0);
  EXPECT_THAT(silent.TakeGrants(kStart), ElementsAre(Ledger::Grant{1, {{1, 1}}}, Ledger::Grant{2, {{0, 2}}}));
  Ledger stopped_then_silent = WithAFailureOnNode1();
  stopped_then_silent.Stop(0);
  stopped_then_silent.Share(0);
  stopped_then_silent.Touch(0);
  EXPECT_EQ(stopped_then_silent.TakeGrants(kStart).size(), 2);
  Ledger lost = WithAFailureOnNode1();
  lost.Lose(0);  // a failure of item 1
  EXPECT_THAT(lost.TakeGrants(kStart), ElementsAre(Ledger::Grant{1, {{1, 2}}}, Ledger::Grant{2, {{0, 2}}}));
}

TEST(Ledger, AFailedItemIsForANodeThatIsHeardAgain) {
  Ledger ledger = WithAFailureOnNode1();
  ledger.Share(0);
  ledger.Touch(0);
  EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{1, {{1, 1}}}));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(0));
}

// It may be stopped, and has items that it has not begun.
TEST(Ledger, TheRankThatAFailedItemWaitsForIsAsked) {
  Ledger ledger = WithAFailureOnNode1();
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), ElementsAre(0));
}

TEST(Ledger, ASilentRankIsGrantedWhatItWantedOnceItIsHeard) {
  Ledger ledger = OfRanks(3, 2);
  Ask(ledger, 0);
  ledger.Want(0);
  EXPECT_EQ(ledger.Share(0), 1);
  EXPECT_THAT(ledger.TakeGrants(kStart), IsEmpty());
  ledger.Touch(0);
  EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{0, {{0, 1}}}));
}

TEST(Ledger, WhatIsNotBegunGoesBackWhenTheTimeIsUp) {
  Ledger ledger = OfRanks(10, 2);
  Ask(ledger, 0);
  Ask(ledger, 0);
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), IsEmpty());
  EXPECT_TRUE(ledger.Limit({}));
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), ElementsAre(0));
  ledger.GiveBack(0, {1}, kStart);
  EXPECT_FALSE(ledger.IsOver());
  ledger.Commit(0, 0, milliseconds(1), kStart);
  EXPECT_TRUE(ledger.IsOver());
}

TEST(Ledger, LostRankCountsATryOnlyForItemsAtWork) {
  Ledger ledger = OfRanks(100, 2, 0);
  Ask(ledger, 0);
  ledger.Commit(0, 0, milliseconds(12), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1, 2, 3, 4));
  const Ledger::Lost lost = ledger.Lose(0);
  EXPECT_EQ(lost.returned, 3);
  EXPECT_THAT(lost.poisoned, ElementsAre(GrantedItem{1, 1}));
  EXPECT_EQ(ledger.items().progress(), (Progress{100, 1, 1, 0, 0, 0}));
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(2));
  EXPECT_EQ(ledger.Lose(0).returned, 0);
}

TEST(Ledger, IdleRanksGetWhatOthersHaveNotBegun) {
  Ledger ledger = OfRanks(6, 2);
  Ask(ledger, 0);
  ledger.Commit(0, 0, milliseconds(1), kStart);
  while (!Ask(ledger, 0).empty()) {
  }
  EXPECT_EQ(ledger.Shares(kStart).front().granted, 5);
  // It requests more itself, but has no free slot.
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), IsEmpty());
  ledger.Want(1);
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), ElementsAre(0));
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), IsEmpty());
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(11), seconds(1)), ElementsAre(0));
  ledger.GiveBack(0, {3, 4, 5}, kStart);
  // A free slot comes first.
  EXPECT_THAT(ledger.TakeGrants(kStart), ElementsAre(Ledger::Grant{1, {{3, 1}}}, Ledger::Grant{0, {{4, 1}}}));
  EXPECT_EQ(ledger.items().AttemptsOf(3), 0);
  // A rank cannot give back another rank's item.
  ledger.GiveBack(1, {1}, kStart);
  EXPECT_EQ(ledger.Shares(kStart).front().granted, 3);
}

TEST(Ledger, ALongItemIsGrantedToAFreeSlotOnly) {
  Ledger ledger = OfRanks(100, 2);
  ledger.Join({1, 1}, 3);
  Ask(ledger, 0);
  EXPECT_THAT(Ask(ledger, 0), IsEmpty());  // how long it takes is not known
  ledger.Commit(0, 0, milliseconds(51), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1));
  EXPECT_THAT(Ask(ledger, 0), IsEmpty());
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(2, 3, 4));
  ledger.Commit(1, 3, seconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(5));
  EXPECT_THAT(Ask(ledger, 1), IsEmpty());
}

TEST(Ledger, NobodyIsAskedWhileThereIsSomethingToGrant) {
  Ledger ledger = OfRanks(10, 2);
  Ask(ledger, 0);
  ledger.Want(1);
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(10), seconds(1)), IsEmpty());
}

TEST(Ledger, EarlierRunsCount) {
  Ledger ledger(4, 2);
  ledger.Resume(0, false, ShortTime(seconds(1)));
  ledger.Resume(2, true, ShortTime(seconds(1)));
  ledger.Resume(2, false, ShortTime(seconds(1)));
  ledger.Resume(9, false, ShortTime(seconds(1)));
  ledger.Join({0, 0}, 4);
  EXPECT_EQ(ledger.items().progress(), (Progress{4, 1, 1, 2, 0, 0}));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1, 3));
}

TEST(Ledger, NothingIsGrantedOnceItIsClosed) {
  Ledger ledger = OfRanks(3, 2);
  Ask(ledger, 0);
  EXPECT_TRUE(ledger.Limit({}));
  EXPECT_THAT(Ask(ledger, 1), IsEmpty());
  EXPECT_FALSE(ledger.IsOver());
  ledger.Commit(0, 0, milliseconds(1), kStart);
  EXPECT_TRUE(ledger.IsOver());
  EXPECT_FALSE(ledger.items().progress().left() == 0);
}

// Even items are of class 0 and take `even`, odd ones of class 1; rank 0 does the first `done`.
Ledger OfTwoClasses(uint64_t items, uint64_t done, Duration even, Duration odd) {
  Ledger ledger = OfRanks(items, 2);
  std::vector<uint8_t> classes(items);
  for (uint64_t i = 0; i < items; ++i) classes[i] = i % 2;
  ledger.Classify(0, std::span(classes).first(items / 2));
  ledger.Classify(items / 2, std::span(classes).subspan(items / 2));
  for (uint64_t i = 0; i < done; ++i) ledger.Commit(0, i, i % 2 == 0 ? even : odd, kStart);
  return ledger;
}

TEST(Ledger, AClassOfLongItemsEndsBeforeTheOthers) {
  Ledger ledger = OfTwoClasses(17, 12, seconds(1), seconds(100));
  EXPECT_FALSE(ledger.Limit(seconds(200)));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(13));
  EXPECT_TRUE(ledger.Limit(seconds(50)));
  EXPECT_FALSE(ledger.Limit(seconds(50)));
  EXPECT_FALSE(ledger.items().closed());
  EXPECT_EQ(ledger.items().held_back(), 1);
  // Once, although no rank waits: item 13 is not begun.
  EXPECT_THAT(ledger.TakeRecalls(kStart, seconds(1)), ElementsAre(0));
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(9), seconds(1)), IsEmpty());
  ledger.GiveBack(0, {13}, kStart);
  EXPECT_EQ(ledger.items().held_back(), 2);
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(12));
  EXPECT_EQ(ledger.Fail(1, 12, {}, kStart), Verdict::kAgain);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(12));
  EXPECT_THAT(Ask(ledger, 1), ElementsAre(14));
  ledger.Commit(0, 12, seconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(16));
  ledger.Commit(1, 14, seconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 1), IsEmpty());
  EXPECT_FALSE(ledger.IsOver());
  ledger.Commit(0, 16, seconds(1), kStart);
  EXPECT_TRUE(ledger.IsOver());
  EXPECT_EQ(ledger.items().progress().left(), 2);
}

// Ranks that wait take what others have not begun, although items of a closed class are left.
TEST(Ledger, TheLastItemsOfTheOpenClassesAreShared) {
  Ledger ledger = OfTwoClasses(15, 12, milliseconds(1), seconds(100));
  ledger.Limit(seconds(50));
  ledger.TakeRecalls(kStart, seconds(1));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(12));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(14));
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(9), seconds(1)), IsEmpty());
  EXPECT_THAT(Ask(ledger, 1), IsEmpty());
  EXPECT_THAT(ledger.TakeRecalls(kStart + seconds(9), seconds(1)), ElementsAre(0));
}

TEST(Ledger, TheClassOfTheLongestItemsGoesFirst) {
  Ledger ledger = OfTwoClasses(20, 4, seconds(1), seconds(2));
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(5));
  ledger.Commit(0, 5, seconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(7));
  // The odd ones are now the shorter ones.
  for (const uint64_t item : {7, 9, 11, 13}) ledger.Commit(0, item, milliseconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(4));
}

TEST(Ledger, AClassWithoutAResultGoesFirst) {
  Ledger ledger = OfTwoClasses(20, 0, {}, {});
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(0));
  ledger.Commit(0, 0, seconds(100), kStart);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(1));
}

// Whether their classes come before or after the journal.
TEST(Ledger, EarlierRunsKnowHowLongTheItemsOfAClassTake) {
  const std::vector<uint8_t> classes = {0, 1, 0, 1, 0, 1, 0, 1};
  for (const bool classes_first : {true, false}) {
    Ledger ledger = OfRanks(8, 2);
    if (classes_first) ledger.Classify(0, classes);
    ledger.Resume(0, false, ShortTime(milliseconds(10)));
    ledger.Resume(3, false, ShortTime(seconds(10)));
    ledger.Resume(2, true, ShortTime(seconds(99)));  // given up: it has no information
    if (!classes_first) ledger.Classify(0, classes);
    EXPECT_THAT(Ask(ledger, 1), ElementsAre(1));
    EXPECT_THAT(Ask(ledger, 0), ElementsAre(5));
    EXPECT_TRUE(ledger.Limit(seconds(5)));
    EXPECT_FALSE(ledger.items().closed());
    EXPECT_EQ(ledger.items().held_back(), 1);
  }
}

TEST(Ledger, AnItemThatWasGrantedBeforeItsClassWasKnownIsGrantedAgain) {
  Ledger ledger = OfRanks(4, 1);
  EXPECT_THAT(Ask(ledger, 0), ElementsAre(0));
  ledger.Classify(0, std::vector<uint8_t>{1, 0, 1, 0});
  ledger.GiveBack(0, {0}, kStart);
  std::vector<uint64_t> all;
  for (std::vector<uint64_t> next = Ask(ledger, 0); !next.empty(); next = Ask(ledger, 0)) {
    all.push_back(next.front());
    ledger.Commit(0, next.front(), seconds(1), kStart);
  }
  EXPECT_THAT(all, ::testing::UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(ledger.IsOver());
}

TEST(Ledger, OfAClassWithFewResultsTwiceTheLongestCounts) {
  Ledger few = OfTwoClasses(40, 9, seconds(100), seconds(30));
  EXPECT_TRUE(few.Limit(seconds(50)));
  EXPECT_TRUE(few.items().closed());
  Ledger enough = OfTwoClasses(40, 10, seconds(100), seconds(30));
  EXPECT_TRUE(enough.Limit(seconds(50)));
  EXPECT_FALSE(enough.items().closed());
  EXPECT_TRUE(enough.Limit(seconds(29)));
  EXPECT_TRUE(enough.items().closed());
}

TEST(Ledger, AClassWithoutAResultCountsAsAllItems) {
  Ledger one = OfTwoClasses(40, 1, seconds(100), {});
  EXPECT_FALSE(one.Limit(seconds(150)));
  EXPECT_TRUE(one.Limit(seconds(99)));
  EXPECT_TRUE(one.items().closed());
  // Before any result, until there is no time at all.
  Ledger none = OfTwoClasses(4, 0, {}, {});
  EXPECT_FALSE(none.Limit(milliseconds(1)));
  EXPECT_TRUE(none.Limit({}));
  EXPECT_TRUE(none.IsOver());
}

TEST(Ledger, HasAtMost64Classes) {
  Ledger ledger = OfRanks(300, 1);
  std::vector<uint8_t> classes(300);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<uint8_t>(i);
  ledger.Classify(0, classes);
  ledger.Classify(1, classes);  // beyond the last item: ignored
  ledger.Resume(299, false, ShortTime(seconds(1)));
  EXPECT_TRUE(ledger.Limit({}));
  EXPECT_EQ(ledger.items().held_back(), 299);
}

TEST(Ledger, OverdueItemsAreThoseAtWork) {
  Ledger ledger = OfRanks(3, 2);
  Ask(ledger, 0, kStart);
  Ask(ledger, 1, kStart + seconds(5));
  EXPECT_THAT(ledger.FindOverdue(kStart + seconds(9), seconds(8)), ElementsAre(std::pair(0, uint64_t{0})));
  ledger.Commit(0, 0, seconds(9), kStart + seconds(9));
  EXPECT_THAT(ledger.FindOverdue(kStart + seconds(9), seconds(8)), IsEmpty());
}

TEST(Ledger, OnEachSlotTheNextItemBeginsWhenOneEnds) {
  Ledger ledger(6, 2);
  ledger.Join({0, 0}, 2);
  ledger.Commit(0, 5, milliseconds(1), kStart);
  EXPECT_THAT(Ask(ledger, 0, kStart), ElementsAre(0, 1));
  EXPECT_THAT(Ask(ledger, 0, kStart + seconds(1)), ElementsAre(2, 3));
  ledger.Commit(0, 1, seconds(2), kStart + seconds(2));
  // 0 began at 0 s and 2 at 2 s; 3 has not begun.
  EXPECT_THAT(ledger.LongestAtWork(kStart + seconds(5)).items(),
              ElementsAre(ItemTime{0, "", 0, seconds(5)}, ItemTime{2, "", 0, seconds(3)}));
  ledger.GiveBack(0, {3}, kStart + seconds(5));
  EXPECT_EQ(ledger.Fail(0, 0, seconds(6), kStart + seconds(6)), Verdict::kAgain);
  EXPECT_THAT(ledger.LongestAtWork(kStart + seconds(6)).items(), ElementsAre(ItemTime{2, "", 0, seconds(4)}));
  EXPECT_THAT(ledger.FindOverdue(kStart + seconds(6), seconds(3)), ElementsAre(std::pair(0, uint64_t{2})));
}

TEST(Ledger, ASharedItemIsNotAtWork) {
  Ledger ledger = OfRanks(3, 2);
  Ask(ledger, 0);
  ledger.Share(0);
  EXPECT_THAT(ledger.LongestAtWork(kStart + seconds(1)).items(), IsEmpty());
  ledger.Touch(0);
  EXPECT_THAT(Ask(ledger, 0, kStart + seconds(1)), ElementsAre(0));
  EXPECT_THAT(ledger.LongestAtWork(kStart + seconds(3)).items(), ElementsAre(ItemTime{0, "", 0, seconds(2)}));
}

TEST(Ledger, SharesOfTheWorkCountFailuresAndWhatIsAtWork) {
  Ledger ledger = OfRanks(9, 2);
  Ask(ledger, 0);
  ledger.Commit(0, 0, seconds(3), kStart + seconds(3));
  Ask(ledger, 0, kStart + seconds(3));
  ledger.Fail(0, 1, seconds(2), kStart + seconds(5));
  Ask(ledger, 0, kStart + seconds(6));
  EXPECT_THAT(ledger.Shares(kStart + seconds(10)), ElementsAre(RankShare{0, 1, false, 1, 1, 1, 1, seconds(9)},
                                                               RankShare{1, 1, false, 0, 0, 0, 0, {}}));
}

// Also if it comes back.
TEST(Ledger, TheShareOfARankThatHasGoneStays) {
  Ledger ledger = OfRanks(9, 2);
  Ask(ledger, 0);
  ledger.Commit(0, 0, seconds(3), kStart + seconds(3));
  Ask(ledger, 0, kStart + seconds(3));
  ledger.Lose(0);
  EXPECT_EQ(ledger.Shares(kStart + seconds(4)).front(), (RankShare{0, 1, false, 1, 0, 0, 0, seconds(3)}));
  ledger.Join({0, 0}, 1);
  EXPECT_THAT(Ask(ledger, 0, kStart + seconds(5)), ElementsAre(2));
  ledger.Commit(0, 2, seconds(1), kStart + seconds(6));
  EXPECT_EQ(ledger.Shares(kStart + seconds(6)).front(), (RankShare{0, 1, false, 2, 0, 0, 0, seconds(4)}));
}

TEST(Ledger, StoppedRankIsGrantedNothing) {
  Ledger ledger = OfRanks(3, 2);
  ledger.Want(0);
  ledger.Stop(0);
  EXPECT_THAT(ledger.TakeGrants(kStart), IsEmpty());
  EXPECT_THAT(Ask(ledger, 0), IsEmpty());
}

TEST(Durations, QuantilesAreAtMostAQuarterTooLong) {
  Durations durations;
  EXPECT_EQ(durations.Quantile(0.5), Duration::zero());
  for (int i = 1; i <= 1000; ++i) durations.Add(milliseconds(i));
  for (const double share : {0.01, 0.5, 0.95, 1.0}) {
    const Duration exact = milliseconds(static_cast<int>(share * 1000));
    EXPECT_GE(durations.Quantile(share), exact) << share;
    EXPECT_LE(durations.Quantile(share), exact * 5 / 4) << share;
  }
}

}  // namespace
}  // namespace muster::map
