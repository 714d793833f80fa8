#include "comm/map/progress_log.h"

#include <gtest/gtest.h>

namespace muster::map {
namespace {

TEST(DescribeProgress, AFailedItemIsNotDone) {
  Progress progress;
  progress.items = 10;
  progress.committed = 3;
  progress.poisoned = 2;
  progress.resumed = 4;
  EXPECT_EQ(DescribeProgress(progress, std::chrono::seconds(2)),
            "map: 3 of 10 items done, 2 failed; 0.5 a second, about 10 s left");
}

TEST(DescribeUneven, NamesTheNodeThatHasDoneLeastOfEachSlot) {
  EXPECT_EQ(DescribeUneven({{"gpu01", 60, 4}, {"gpu02", 12, 4}, {"gpu03", 64, 4}}),
            "; gpu02 has done 3 a slot, half of the nodes 15 or more");
}

TEST(DescribeUneven, IsEmptyIfNodesAreAlikeOrLittleIsDone) {
  EXPECT_EQ(DescribeUneven({{"gpu01", 60, 4}, {"gpu02", 31, 4}}), "");
  EXPECT_EQ(DescribeUneven({{"gpu01", 3, 1}, {"gpu02", 0, 1}}), "");
  EXPECT_EQ(DescribeUneven({{"gpu01", 60, 1}}), "");
  // More slots, and more done.
  EXPECT_EQ(DescribeUneven({{"gpu01", 80, 8}, {"gpu02", 20, 2}}), "");
}

// Its ranks have left, or never came.
TEST(DescribeUneven, LeavesOutANodeWithoutSlots) {
  EXPECT_EQ(DescribeUneven({{"gpu01", 60, 1}, {"gpu02", 0, 0}}), "");
}

}  // namespace
}  // namespace muster::map
