#include "comm/base/round_robin.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string All(RoundRobin<int>& values) {
  std::string text;
  while (const std::optional<int> value = values.Pop()) text += std::to_string(*value) + " ";
  return text;
}

TEST(RoundRobinTest, EmptyItHasNothing) {
  RoundRobin<int> values;
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(values.Pop(), std::nullopt);
  EXPECT_EQ(values.Remove("a", [](int) { return true; }), std::nullopt);
}

TEST(RoundRobinTest, EachSourceHasItsTurn) {
  RoundRobin<int> values;
  for (int value = 1; value <= 4; ++value) values.Push("a", value);
  values.Push("b", 10);
  values.Push("c", 20);
  values.Push("c", 21);
  EXPECT_FALSE(values.empty());
  EXPECT_EQ(All(values), "1 10 20 2 21 3 4 ");
  EXPECT_TRUE(values.empty());
}

TEST(RoundRobinTest, ASourceThatCameBackIsLast) {
  RoundRobin<int> values;
  values.Push("a", 1);
  values.Push("b", 10);
  EXPECT_EQ(values.Pop(), 1);
  values.Push("a", 2);
  EXPECT_EQ(All(values), "10 2 ");
}

TEST(RoundRobinTest, RemovesTheOldestMatchOfThatSourceAlone) {
  RoundRobin<int> values;
  values.Push("a", 1);
  values.Push("a", 2);
  values.Push("a", 4);
  values.Push("b", 6);
  const auto even = [](int value) { return value % 2 == 0; };
  EXPECT_EQ(values.Remove("a", even), 2);
  EXPECT_EQ(values.Remove("a", [](int value) { return value == 6; }), std::nullopt);
  EXPECT_EQ(values.Remove("b", even), 6);
  EXPECT_EQ(All(values), "1 4 ");
}

TEST(RoundRobinTest, ASourceWithoutValuesHasNoTurn) {
  RoundRobin<int> values;
  values.Push("a", 1);
  values.Push("b", 10);
  EXPECT_EQ(values.Remove("a", [](int) { return true; }), 1);
  values.Push("a", 2);
  EXPECT_EQ(All(values), "10 2 ");
}

}  // namespace
}  // namespace muster
