// Many more ranks than processors.
#include <gtest/gtest.h>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

TEST(Scale, SixtyFourRanksMeetAndAddUp) {
  for (const std::vector<int>& layout :
       {BlockLayout({64}), BlockLayout({16, 16, 16, 16}), CyclicLayout(64, 13)}) {
    FakeWorld world(layout);
    world.Run([](Communicator& c) {
      for (int i = 0; i < 20; ++i) ASSERT_EQ(MessageOf(c.Barrier()), "");
      int64_t sum = c.rank();
      ASSERT_EQ(MessageOf(c.AllReduce(std::span(&sum, 1), ReduceOp::kSum)), "");
      EXPECT_EQ(sum, 64 * 63 / 2);
      std::vector<int32_t> blocks(64, c.rank());
      ASSERT_EQ(MessageOf(c.AllToAll(HostBuffer(std::span(blocks)), HostBuffer(std::span(blocks)))), "");
      for (int rank = 0; rank < 64; ++rank) EXPECT_EQ(blocks[static_cast<size_t>(rank)], rank);
      const auto names = c.AllGatherBytes(AsBytes(c.node()));
      ASSERT_TRUE(names);
      EXPECT_EQ(AsText(names->at(63)), c.roster().NodeName(63));
    });
  }
}

}  // namespace
}  // namespace muster::socket
