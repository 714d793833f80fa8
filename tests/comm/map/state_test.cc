#include "comm/map/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::map {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> Indexes(const LongestItems& longest) {
  std::vector<uint64_t> indexes;
  for (const ItemTime& item : longest.items()) indexes.push_back(item.item);
  return indexes;
}

TEST(LongestItems, AreTheFiveThatTookLongest) {
  LongestItems longest;
  EXPECT_THAT(longest.items(), IsEmpty());
  for (const int time : {3, 9, 1, 7, 5, 8, 2, 6, 4})
    longest.Add({static_cast<uint64_t>(time), "", 0, seconds(time)});
  EXPECT_THAT(Indexes(longest), ElementsAre(9, 8, 7, 6, 5));
  EXPECT_FALSE(longest.Takes(seconds(5)));
  EXPECT_TRUE(longest.Takes(seconds(6)));
}

TEST(LongestItems, TheFirstOfEqualOnesStays) {
  LongestItems longest;
  for (uint64_t item = 0; item < 7; ++item) longest.Add({item, "", 0, seconds(1)});
  EXPECT_THAT(Indexes(longest), ElementsAre(0, 1, 2, 3, 4));
}

TEST(MapState, BusyPartIsOfAllSlots) {
  MapState map;
  RankShare rank;
  rank.slots = 2;
  rank.busy = seconds(5);
  EXPECT_EQ(map.BusyPart(rank), 0);
  map.elapsed = seconds(10);
  EXPECT_EQ(map.BusyPart(rank), 0.25);
  rank.busy = seconds(21);
  EXPECT_EQ(map.BusyPart(rank), 1);
}

}  // namespace
}  // namespace muster::map
