#include "comm/rendezvous/tcp_store/contents.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

struct ContentsTest : testing::Test {
  Budget memory{"these contents", 1000};
  Contents contents{memory};
};

TEST_F(ContentsTest, HoldsWhatWasSet) {
  ASSERT_TRUE(contents.Set("a", "1"));
  ASSERT_TRUE(contents.Set("a", "2"));
  ASSERT_TRUE(contents.Append("a", "3"));
  ASSERT_TRUE(contents.Append("b", "4"));
  EXPECT_EQ(*contents.Find("a"), "23");
  EXPECT_EQ(*contents.Find("b"), "4");
  EXPECT_EQ(contents.Find("c"), nullptr);
  EXPECT_EQ(contents.values().size(), 2u);
}

TEST_F(ContentsTest, AQueueIsNoKey) {
  ASSERT_TRUE(contents.Push("q", "1"));
  ASSERT_TRUE(contents.Push("q", ""));
  EXPECT_FALSE(contents.Has("q"));
  EXPECT_FALSE(contents.Erase("q"));
  EXPECT_EQ(contents.QueueLength("q"), 2u);
  EXPECT_EQ(contents.Pop("q"), "1");
  EXPECT_EQ(contents.Pop("q"), "");
  EXPECT_EQ(contents.Pop("q"), std::nullopt);
  EXPECT_EQ(contents.QueueLength("q"), 0u);
}

TEST_F(ContentsTest, GivesBackAllThatItTook) {
  ASSERT_TRUE(contents.Set("a", std::string(500, 'x')));
  ASSERT_TRUE(contents.Set("a", "short"));
  ASSERT_TRUE(contents.Append("a", "er"));
  ASSERT_TRUE(contents.Push("q", "1"));
  ASSERT_TRUE(contents.Push("q", "22"));
  EXPECT_GT(memory.taken(), 0u);
  EXPECT_EQ(contents.Pop("q"), "1");
  EXPECT_TRUE(contents.Erase("a"));
  EXPECT_EQ(contents.Pop("q"), "22");
  EXPECT_EQ(memory.taken(), 0u);
  ASSERT_TRUE(contents.Set("a", "1"));
  ASSERT_TRUE(contents.Push("q", "1"));
  contents.Clear();
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(ContentsTest, WhatDoesNotFitChangesNothing) {
  ASSERT_TRUE(contents.Set("a", "1"));
  const uint64_t before = memory.taken();
  const std::string large(1000, 'x');
  const Error full{Code::kDisagreement,
                   "these contents hold 130 bytes; 999 more would be beyond their limit of 1000", ""};
  EXPECT_EQ(contents.Set("a", large).error(), full);
  EXPECT_FALSE(contents.Set("b", large));
  EXPECT_FALSE(contents.Append("a", large));
  EXPECT_FALSE(contents.Push("q", large));
  EXPECT_EQ(*contents.Find("a"), "1");
  EXPECT_FALSE(contents.Has("b"));
  EXPECT_EQ(contents.QueueLength("q"), 0u);
  EXPECT_EQ(memory.taken(), before);
}

TEST_F(ContentsTest, ASmallValueDoesNotKeepTheRoomOfALargeOne) {
  ASSERT_TRUE(contents.Set("a", std::string(800, 'x')));
  ASSERT_TRUE(contents.Set("a", "1"));
  EXPECT_LT(contents.Find("a")->capacity(), 100u);
}

}  // namespace
}  // namespace muster::tcp_store
