#include "comm/map/item_book.h"

#include <gtest/gtest.h>

#include <array>

namespace muster::map {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of ranks 0 and 1, each on a node of its own.
std::optional<GrantedItem> TakeFor(ItemBook& items, int rank) {
  WorkingRanks working;
  for (const int node : {0, 1}) working.Add(node);
  return items.Take({rank, rank}, working);
}

TEST(ItemBook, GivesTheItemsInTheirOrder) {
  ItemBook items(2, 0);
  EXPECT_EQ(TakeFor(items, 0), (GrantedItem{0, 1}));
  EXPECT_TRUE(items.IsGranted(0));
  EXPECT_EQ(TakeFor(items, 1), (GrantedItem{1, 1}));
  EXPECT_EQ(TakeFor(items, 0), std::nullopt);
  EXPECT_EQ(items.Grantable(), 0u);
  EXPECT_EQ(items.progress().granted, 2u);
}

TEST(ItemBook, WhatFailedOnARankIsForAnotherOne) {
  ItemBook items(1, 1);
  TakeFor(items, 0);
  EXPECT_FALSE(items.Fail(0, {0, 0}));
  EXPECT_EQ(TakeFor(items, 0), std::nullopt);
  EXPECT_TRUE(items.HasReturned());
  EXPECT_EQ(TakeFor(items, 1), (GrantedItem{0, 2}));
  EXPECT_TRUE(items.Fail(0, {1, 1}));
  EXPECT_EQ(items.progress().poisoned, 1u);
  EXPECT_FALSE(items.HasReturned());
}

TEST(ItemBook, TheOnlyRankAtWorkTakesItAgain) {
  ItemBook items(1, 1);
  TakeFor(items, 0);
  items.Fail(0, {0, 0});
  EXPECT_EQ(items.TakeReturned(), (GrantedItem{0, 2}));
}

TEST(ItemBook, TheFirstCommitCounts) {
  ItemBook items(1, 0);
  TakeFor(items, 0);
  items.Return(0);  // its rank is silent
  EXPECT_TRUE(items.Commit(0, seconds(1)));
  EXPECT_FALSE(items.Commit(0, seconds(1)));
  EXPECT_EQ(items.progress().second_commits, 1u);
  EXPECT_EQ(items.progress().left(), 0u);
  EXPECT_EQ(TakeFor(items, 0), std::nullopt);
}

TEST(ItemBook, TheSlowestClassGoesFirstAfterOneWithoutAResult) {
  ItemBook items(4, 0);
  items.Classify(0, std::array<uint8_t, 4>{0, 1, 0, 1});
  ASSERT_EQ(TakeFor(items, 0)->index, 0u);
  items.Commit(0, milliseconds(1));
  EXPECT_EQ(items.ExpectNext(), Duration::zero());  // class 1
  ASSERT_EQ(TakeFor(items, 0)->index, 1u);
  items.Commit(1, seconds(1));
  EXPECT_EQ(items.ExpectNext(), seconds(1));
  EXPECT_EQ(TakeFor(items, 0)->index, 3u);
  EXPECT_EQ(TakeFor(items, 0)->index, 2u);
}

TEST(ItemBook, AClosedClassIsHeldBack) {
  ItemBook items(4, 0);
  items.Classify(0, std::array<uint8_t, 4>{0, 1, 0, 1});
  for (const uint64_t item : {0, 1}) {
    TakeFor(items, 0);
    items.Commit(item, item == 0 ? milliseconds(1) : seconds(10));
  }
  EXPECT_FALSE(items.Limit(seconds(11)));
  EXPECT_TRUE(items.Limit(seconds(5)));
  EXPECT_FALSE(items.Limit(seconds(5)));
  EXPECT_EQ(items.held_back(), 1u);
  EXPECT_FALSE(items.closed());
  EXPECT_EQ(TakeFor(items, 0)->index, 2u);
  EXPECT_EQ(TakeFor(items, 0), std::nullopt);
  EXPECT_TRUE(items.Limit({}));
  EXPECT_TRUE(items.closed());
}

}  // namespace
}  // namespace muster::map
