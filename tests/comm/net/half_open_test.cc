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

TEST(SourceOf, IsTheHostAndOneForLoopback) {
  for (const char* const loopback : {"127.0.0.1", "127.9.8.7", "::1", "::ffff:127.9.8.7"})
    EXPECT_EQ(SourceOf(*SocketAddress::FromNumeric(loopback, 5)), "loopback");
  EXPECT_EQ(SourceOf(*SocketAddress::FromNumeric("10.1.2.3", 5)), "10.1.2.3");
  EXPECT_EQ(SourceOf(*SocketAddress::FromNumeric("fd00::7", 5)), "fd00::7");
}

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

// The owner of an IPv6 network connected from a new address each time, and kept each connection for the whole patience.
TEST(HalfOpenTable, ManyAddressesOfOneNetworkCountAsOne) {
  const Clock::time_point now{};
  HalfOpenTable table(16);
  std::vector<HalfOpenTable::Id> ids;
  for (int i = 1; i <= 16; ++i) ids.push_back(table.Add("2001:db8:0:7::" + std::to_string(i), now));
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.Victim(now), ids[4]) << "the first four are addresses of their own";
  table.Remove(ids[4]);
  table.Add("2001:db8:0:8::1", now);
  EXPECT_EQ(table.Victim(now), ids[5]);
  // An address without connections makes room for another of its own.
  for (size_t i = 5; i < ids.size(); ++i) table.Remove(ids[i]);
  table.Remove(ids[0]);
  const auto own = table.Add("2001:db8:0:7::99", now);
  table.Add("2001:db8:0:7::99", now);
  for (int i = 0; i < 11; ++i) table.Add("10.0.0." + std::to_string(i), now);
  EXPECT_EQ(table.Victim(now), own) << "the only one with two connections";
}

TEST(HalfOpenTable, ALinkIsANetwork) {
  const Clock::time_point now{};
  HalfOpenTable table(4);
  table.Add("fe80::1%eth0", now);
  const auto second = table.Add("fe80::2%eth0", now);
  table.Add("fe80::3%eth0", now);
  table.Add("10.0.0.1", now);
  EXPECT_EQ(table.Victim(now), second);
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
  EXPECT_EQ(table.NextVictim(), Deadline::At(now + HalfOpenTable::kShortPatience))
      << "it may be crowded then";
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

class CrowdedTableTest : public testing::Test {
 protected:
  // All places are taken: 12 active ones of "a", two of each other address.
  CrowdedTableTest() {
    for (int i = 0; i < 12; ++i) of_a.push_back(Add("a"));
    for (size_t i = 0; !table.full(); ++i) Add("b" + std::to_string(i / 2));
    now += HalfOpenTable::kShortPatience;
  }
  HalfOpenTable::Id Add(const std::string& address) {
    const auto id = table.Add(address, now += milliseconds(1));
    table.SetActive(id);
    return id;
  }

  Clock::time_point now{};
  HalfOpenTable table{20};
  std::vector<HalfOpenTable::Id> of_a;
};

TEST_F(CrowdedTableTest, IsNotCrowdedWhileConnectionsProveThemselves) {
  EXPECT_EQ(table.NextVictim(), Deadline::At(now));
  EXPECT_FALSE(table.Crowded(now - milliseconds(1)));
  EXPECT_EQ(table.VictimFor("c", now - milliseconds(1)), std::nullopt);
  table.SetProven(now);
  EXPECT_FALSE(table.Crowded(now));
  now += HalfOpenTable::kShortPatience;
  EXPECT_TRUE(table.Crowded(now));
  table.SetProven(now);
  EXPECT_TRUE(table.Crowded(now)) << "until half the places are free";
  for (int i = 0; i < 11; ++i) table.Remove(of_a[static_cast<size_t>(i)]);
  while (!table.full()) Add("a");
  EXPECT_FALSE(table.Crowded(now));
  EXPECT_TRUE(table.Crowded(now + HalfOpenTable::kShortPatience));
}

TEST_F(CrowdedTableTest, OneThatWaitsForThisSideGivesWayToAnotherAddress) {
  EXPECT_TRUE(table.Crowded(now));
  EXPECT_EQ(table.Victim(now + std::chrono::hours(1)), std::nullopt);
  EXPECT_EQ(table.VictimFor("c", now), of_a.back()) << "the newest";
  EXPECT_EQ(table.VictimFor("b0", now), of_a.back());
  EXPECT_EQ(table.VictimFor("a", now), std::nullopt);
}

TEST_F(CrowdedTableTest, TheNewestIsTheLastToCome) {
  table.SetSilent(of_a.front(), now);
  table.SetActive(of_a.front());
  EXPECT_EQ(table.VictimFor("c", now), of_a.back()) << "the first is being proven";
}

TEST_F(CrowdedTableTest, ASilentOneGivesWaySoonerThanOtherwise) {
  table.SetSilent(of_a[3], now);
  const auto later = now + HalfOpenTable::kShortPatience;
  EXPECT_EQ(table.VictimFor("a", later - milliseconds(1)), std::nullopt);
  EXPECT_EQ(table.VictimFor("a", later), of_a[3]);
  EXPECT_EQ(table.VictimFor("c", later), of_a[3]);
  EXPECT_EQ(table.VictimFor("c", later - milliseconds(1)), of_a.back());
}

TEST_F(CrowdedTableTest, TheAddressWithTheMostAloneGivesWay) {
  EXPECT_TRUE(table.Crowded(now));
  for (size_t i = 3; i < of_a.size(); ++i) table.Remove(of_a[i]);
  EXPECT_FALSE(table.Crowded(now));
  for (int i = 0; i < 9; ++i) Add("c" + std::to_string(i / 3));
  now += HalfOpenTable::kShortPatience;
  EXPECT_TRUE(table.full());
  EXPECT_FALSE(table.Crowded(now)) << "three are few";
  EXPECT_EQ(table.VictimFor("d", now), std::nullopt);
  table.Remove(of_a[0]);
  const auto newest = Add("c1");
  EXPECT_EQ(table.VictimFor("d", now), newest);
  EXPECT_EQ(table.VictimFor("a", now), newest);
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
