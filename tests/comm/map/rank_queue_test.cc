#include "comm/map/rank_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::map {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const Clock::time_point kStart{};

RankQueue WithItems(int slots, int items) {
  RankQueue queue;
  queue.set_slots(slots);
  for (int item = 0; item < items; ++item) queue.Add(static_cast<uint64_t>(item), kStart);
  queue.BeginNext(kStart);
  return queue;
}

TEST(RankQueue, AsManyAreAtWorkAsThereAreSlots) {
  const RankQueue queue = WithItems(2, 3);
  EXPECT_EQ(queue.at_work(), 2);
  EXPECT_THAT(queue.AtWork(), ElementsAre(RankQueue::Lease{0, kStart}, RankQueue::Lease{1, kStart}));
  EXPECT_THAT(queue.Waiting(), ElementsAre(2));
  EXPECT_EQ(queue.free(), 0u);
  EXPECT_EQ(WithItems(4, 3).free(), 1u);
}

TEST(RankQueue, AnEndBeginsTheNext) {
  RankQueue queue = WithItems(2, 4);
  EXPECT_TRUE(queue.Remove(1, kStart + seconds(3)));
  EXPECT_FALSE(queue.Remove(1, kStart + seconds(3)));
  EXPECT_THAT(queue.AtWork(),
              ElementsAre(RankQueue::Lease{0, kStart}, RankQueue::Lease{2, kStart + seconds(3)}));
  // A thread that waited begins nothing.
  EXPECT_TRUE(queue.Remove(3, kStart + seconds(4)));
  EXPECT_EQ(queue.at_work(), 2);
  EXPECT_THAT(queue.Items(), ElementsAre(0, 2));
}

TEST(RankQueue, WithoutSlotsNothingBegins) {
  const RankQueue queue = WithItems(0, 2);
  EXPECT_THAT(queue.AtWork(), IsEmpty());
  EXPECT_THAT(queue.Waiting(), ElementsAre(0, 1));
}

TEST(RankQueue, BeginsAgainAfterItWasCleared) {
  RankQueue queue = WithItems(1, 3);
  queue.Clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.free(), 1u);
  queue.Add(7, kStart);
  queue.BeginNext(kStart);
  EXPECT_EQ(queue.first().item, 7u);
  EXPECT_EQ(queue.at_work(), 1);
}

}  // namespace
}  // namespace muster::map
