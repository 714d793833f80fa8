#include "comm/net/half_open.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::net {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPatience = HalfOpenTable::kPatience;

class HalfOpenTableTest : public testing::Test {
 protected:
  HalfOpenTable::Id Add(const std::string& address) { return table.Add(address, now += milliseconds(1)); }

  Clock::time_point now{};
  HalfOpenTable table{6};
};

TEST_F(HalfOpenTableTest, IsFullAtItsNumberOfPlaces) {
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(table.full());
    Add("a");
  }
  EXPECT_TRUE(table.full());
}

TEST_F(HalfOpenTableTest, AnAddressWithManyFreshConnectionsLosesItsOldestAtOnce) {
  const auto oldest = Add("a");
  for (int i = 0; i < 2; ++i) Add("a");
  EXPECT_EQ(table.Victim(now), std::nullopt) << "half of the places";
  const auto next = Add("a");
  EXPECT_EQ(table.Victim(now), oldest);
  table.Remove(oldest);
  EXPECT_EQ(table.Victim(now), std::nullopt);
  table.SetActive(next);
  Add("a");
  EXPECT_EQ(table.Victim(now), std::nullopt) << "one of the four has spoken";
}

TEST_F(HalfOpenTableTest, AddressesThatFillAllPlacesTogetherLoseTheirOldest) {
  const auto oldest = Add("a");
  Add("b");
  EXPECT_EQ(table.Victim(now), std::nullopt) << "one of each";
  Add("a");
  EXPECT_EQ(table.Victim(now), oldest) << "more than half of three places";
}

TEST_F(HalfOpenTableTest, AddressesWithOneFreshConnectionEachKeepIt) {
  for (const char* const address : {"a", "b", "c", "d", "e", "f"}) Add(address);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.Victim(now), std::nullopt);
}

TEST_F(HalfOpenTableTest, ASilentOneGivesWayAfterAWhile) {
  const auto first = Add("a");
  const auto began = now;
  Add("b");
  EXPECT_EQ(table.NextVictim(), Deadline::At(began + kPatience));
  EXPECT_EQ(table.Victim(began + kPatience - milliseconds(1)), std::nullopt);
  EXPECT_EQ(table.Victim(began + kPatience), first);
}

TEST_F(HalfOpenTableTest, OfTheSilentOnesTheBusiestAddressLosesItsOldest) {
  Add("b");
  const auto oldest_of_a = Add("a");
  Add("a");
  EXPECT_EQ(table.Victim(now + kPatience), oldest_of_a);
}

TEST_F(HalfOpenTableTest, WhoeverWaitsForThisSideKeepsItsPlace) {
  for (int i = 0; i < 6; ++i) table.SetActive(Add("a"));
  EXPECT_EQ(table.Victim(now + std::chrono::hours(1)), std::nullopt);
  EXPECT_EQ(table.AnyVictim(), std::nullopt);
  EXPECT_TRUE(table.NextVictim().IsNever());
}

TEST_F(HalfOpenTableTest, TheTimeCountsFromTheMomentThePeerOwesAgain) {
  const auto id = Add("a");
  const auto asked = now + std::chrono::hours(1);
  table.SetActive(id);
  table.SetSilent(id, asked);
  EXPECT_EQ(table.Victim(asked + kPatience - milliseconds(1)), std::nullopt);
  EXPECT_EQ(table.Victim(asked + kPatience), id);
}

TEST_F(HalfOpenTableTest, ManyThatHaveSpokenAreNotTakenForManyFresh) {
  for (int i = 0; i < 6; ++i) table.SetSilent(Add("a"), now);
  EXPECT_EQ(table.Victim(now), std::nullopt);
}

TEST_F(HalfOpenTableTest, WithoutADescriptorLeftAFreshOneGivesWayFirst) {
  EXPECT_EQ(table.AnyVictim(), std::nullopt);
  const auto silent = Add("c");
  table.SetSilent(silent, now);
  EXPECT_EQ(table.AnyVictim(), silent);
  Add("b");
  const auto fresh = Add("a");
  Add("a");
  EXPECT_EQ(table.AnyVictim(), fresh);
}

TEST_F(HalfOpenTableTest, RemovedConnectionsLeaveNothing) {
  std::vector<HalfOpenTable::Id> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Add("a"));
  table.SetActive(ids[1]);
  table.SetSilent(ids[2], now);
  for (const auto id : ids) table.Remove(id);
  table.Remove(ids[0]);
  table.SetSilent(ids[0], now);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Victim(now + std::chrono::hours(1)), std::nullopt);
}

}  // namespace
}  // namespace muster::net
