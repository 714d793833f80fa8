#include "comm/socket/shm/node_memory.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

TEST(OwnProcessors, AreDisjointSets) {
  const auto segment = Segment::Create(SegmentShape::For(3, 4096));
  ASSERT_TRUE(segment) << segment.error().message;
  (*segment)->member(0).processors = {0b0011};
  (*segment)->member(1).processors = {0b0100};
  (*segment)->member(2).processors = {0, 0b0011};
  EXPECT_TRUE(OwnProcessors(**segment));
  (*segment)->member(2).processors = {0b1100};
  EXPECT_FALSE(OwnProcessors(**segment));
}

}  // namespace
}  // namespace muster::socket
