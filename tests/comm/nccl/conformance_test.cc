// The NCCL backend on the computing fakes does what the socket backend does: the same checks, on device
// memory. The fakes are tested with it, also as tests/gpu uses them: over sockets.
#include <gtest/gtest.h>

#include "tests/comm/nccl/nccl_world.h"
#include "tests/comm/nccl/socket_fabric.h"
#include "tests/comm/socket/collective_checks.h"
#include "tests/comm/socket/split_checks.h"

namespace muster::nccl {
namespace {

std::vector<socket::NamedLayout> Layouts() {
  return {{"one", socket::BlockLayout({1})},          {"pair", socket::BlockLayout({2})},
          {"two_nodes", socket::BlockLayout({1, 1})}, {"uneven", socket::BlockLayout({3, 1})},
          {"cyclic", socket::CyclicLayout(5, 3)},     {"nine", socket::BlockLayout({4, 1, 4})},
          {"processes", socket::BlockLayout({3, 2})}};
}

class NcclConformanceTest : public testing::TestWithParam<socket::NamedLayout> {
 protected:
  NcclConformanceTest()
      : world_(
            GetParam().node_of_rank, NcclWorld::Through::kDevice, TestSettings(),
            [](FakeFabric& fabric) { fabric.connects = true; },
            GetParam().name == "processes" ? std::make_shared<SocketFabric>()
                                           : std::make_shared<FakeFabric>()) {}

  void Repeat(const std::function<void(socket::World&, const socket::Plan&)>& check) {
    ASSERT_EQ(world_.started(), std::vector<std::string>(static_cast<size_t>(world_.size())));
    socket::Planner planner(static_cast<uint32_t>(world_.size()) * 37, world_.size());
    for (int i = 0; i < 6; ++i) {
      const socket::Plan plan = planner.Next();
      SCOPED_TRACE(Describe(plan, world_.size()));
      check(world_, plan);
    }
  }

  NcclWorld world_;
};

TEST_P(NcclConformanceTest, Reductions) { Repeat(socket::CheckReductions); }

TEST_P(NcclConformanceTest, ReduceScatter) { Repeat(socket::CheckReduceScatter); }

TEST_P(NcclConformanceTest, BroadcastAndScatter) { Repeat(socket::CheckBroadcastAndScatter); }

TEST_P(NcclConformanceTest, Gathers) { Repeat(socket::CheckGathers); }

TEST_P(NcclConformanceTest, AllToAll) { Repeat(socket::CheckAllToAll); }

TEST_P(NcclConformanceTest, BytesOfDifferentLength) { socket::CheckBytesOfDifferentLength(world_); }

TEST_P(NcclConformanceTest, OneAfterTheOtherWithoutABarrier) { socket::CheckOneAfterTheOther(world_); }

std::string NameOf(const testing::TestParamInfo<socket::NamedLayout>& layout) { return layout.param.name; }
INSTANTIATE_TEST_SUITE_P(Layouts, NcclConformanceTest, testing::ValuesIn(Layouts()), NameOf);

TEST(NcclReductions, WorkForEveryTypeAndOperation) {
  NcclWorld world(socket::BlockLayout({3, 2}));
  socket::CheckEveryTypeAndOperation(world);
}

TEST(NcclLongData, IsRight) {
  NcclWorld world(socket::BlockLayout({3, 2}));
  socket::CheckLongData(world);
}

// The same calls on host memory take the sockets.
TEST(NcclHostMemory, IsTakenToo) {
  NcclWorld world(socket::BlockLayout({2, 1}), NcclWorld::Through::kNothing);
  socket::CheckEveryTypeAndOperation(world);
  socket::CheckOneAfterTheOther(world);
}

TEST(NcclSplit, OrdersByKeyThenByRankAndRenumbersTheRoster) {
  NcclWorld world(socket::BlockLayout({2, 2, 2}));
  socket::CheckSplitOrder(world);
}

TEST(NcclSplit, GivesNothingForANegativeColour) {
  NcclWorld world(socket::BlockLayout({3}));
  socket::CheckSplitOfSome(world);
}

TEST(NcclSplit, MayBeSplitAgainAndOutliveItsParent) {
  NcclWorld world(socket::BlockLayout({4, 4}));
  socket::CheckSplitAgain(world);
}

TEST(NcclSplit, PartsWorkAtTheSameTimeAsTheWhole) {
  NcclWorld world(socket::BlockLayout({2, 2}));
  socket::CheckPartsAtTheSameTime(world);
}

TEST(NcclSplit, WorksBetweenProcesses) {
  NcclWorld world(socket::BlockLayout({2, 2}), NcclWorld::Through::kDevice, TestSettings(), {},
                  std::make_shared<SocketFabric>());
  socket::CheckPartsAtTheSameTime(world);
}

TEST(NcclSplit, OfOneIsAWorldOfOne) {
  NcclWorld world(socket::BlockLayout({2}));
  socket::CheckSplitOfOne(world);
}

}  // namespace
}  // namespace muster::nccl
