// The NCCL backend on the computing fakes does what the socket backend does: the same checks, on device
// memory.
#include <gtest/gtest.h>

#include "tests/comm/nccl/nccl_world.h"
#include "tests/comm/socket/collective_checks.h"
#include "tests/comm/socket/split_checks.h"

namespace muster {
namespace {

std::vector<NamedLayout> Layouts() {
  return {{"one", BlockLayout({1})},       {"pair", BlockLayout({2})},     {"two_nodes", BlockLayout({1, 1})},
          {"uneven", BlockLayout({3, 1})}, {"cyclic", CyclicLayout(5, 3)}, {"nine", BlockLayout({4, 1, 4})}};
}

class NcclConformanceTest : public testing::TestWithParam<NamedLayout> {
 protected:
  NcclConformanceTest() : world_(GetParam().node_of_rank) {}

  void Repeat(const std::function<void(World&, const Plan&)>& check) {
    ASSERT_EQ(world_.started(), std::vector<std::string>(static_cast<size_t>(world_.size())));
    Planner planner(static_cast<uint32_t>(world_.size()) * 37, world_.size());
    for (int i = 0; i < 6; ++i) {
      const Plan plan = planner.Next();
      SCOPED_TRACE(Describe(plan, world_.size()));
      check(world_, plan);
    }
  }

  NcclWorld world_;
};

TEST_P(NcclConformanceTest, Reductions) { Repeat(CheckReductions); }

TEST_P(NcclConformanceTest, ReduceScatter) { Repeat(CheckReduceScatter); }

TEST_P(NcclConformanceTest, BroadcastAndScatter) { Repeat(CheckBroadcastAndScatter); }

TEST_P(NcclConformanceTest, Gathers) { Repeat(CheckGathers); }

TEST_P(NcclConformanceTest, AllToAll) { Repeat(CheckAllToAll); }

TEST_P(NcclConformanceTest, BytesOfDifferentLength) { CheckBytesOfDifferentLength(world_); }

TEST_P(NcclConformanceTest, OneAfterTheOtherWithoutABarrier) { CheckOneAfterTheOther(world_); }

std::string NameOf(const testing::TestParamInfo<NamedLayout>& layout) { return layout.param.name; }
INSTANTIATE_TEST_SUITE_P(Layouts, NcclConformanceTest, testing::ValuesIn(Layouts()), NameOf);

TEST(NcclReductions, WorkForEveryTypeAndOperation) {
  NcclWorld world(BlockLayout({3, 2}));
  CheckEveryTypeAndOperation(world);
}

TEST(NcclLongData, IsRight) {
  NcclWorld world(BlockLayout({3, 2}));
  CheckLongData(world);
}

// The same calls on host memory take the sockets.
TEST(NcclHostMemory, IsTakenToo) {
  NcclWorld world(BlockLayout({2, 1}), NcclWorld::Through::kNothing);
  CheckEveryTypeAndOperation(world);
  CheckOneAfterTheOther(world);
}

TEST(NcclSplit, OrdersByKeyThenByRankAndRenumbersTheRoster) {
  NcclWorld world(BlockLayout({2, 2, 2}));
  CheckSplitOrder(world);
}

TEST(NcclSplit, GivesNothingForANegativeColour) {
  NcclWorld world(BlockLayout({3}));
  CheckSplitOfSome(world);
}

TEST(NcclSplit, MayBeSplitAgainAndOutliveItsParent) {
  NcclWorld world(BlockLayout({4, 4}));
  CheckSplitAgain(world);
}

TEST(NcclSplit, PartsWorkAtTheSameTimeAsTheWhole) {
  NcclWorld world(BlockLayout({2, 2}));
  CheckPartsAtTheSameTime(world);
}

TEST(NcclSplit, OfOneIsAWorldOfOne) {
  NcclWorld world(BlockLayout({2}));
  CheckSplitOfOne(world);
}

}  // namespace
}  // namespace muster
