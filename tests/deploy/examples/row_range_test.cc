#include "deploy/examples/row_range.h"

#include <gtest/gtest.h>

namespace muster::examples {
namespace {

TEST(ShardOf, GivesTheFirstRanksOneMore) {
  EXPECT_EQ(ShardOf(1797, 0, 16), (RowRange{0, 113}));
  EXPECT_EQ(ShardOf(1797, 4, 16), (RowRange{452, 565}));
  EXPECT_EQ(ShardOf(1797, 5, 16), (RowRange{565, 677}));
  EXPECT_EQ(ShardOf(1797, 15, 16), (RowRange{1685, 1797}));
  EXPECT_EQ(ShardOf(1797, 0, 1), (RowRange{0, 1797}));
}

TEST(ShardOf, CoversEveryRowOnceInRankOrder) {
  for (const size_t rows : {0, 1, 2, 7, 16, 17, 1797}) {
    for (size_t size = 1; size <= 40; ++size) {
      size_t next = 0;
      for (size_t rank = 0; rank < size; ++rank) {
        const RowRange shard = ShardOf(rows, rank, size);
        ASSERT_EQ(shard.begin, next) << rows << " rows, rank " << rank << " of " << size;
        ASSERT_GE(shard.size(), rows / size);
        ASSERT_LE(shard.size(), rows / size + 1);
        next = shard.end;
      }
      ASSERT_EQ(next, rows) << size << " ranks";
    }
  }
}

}  // namespace
}  // namespace muster::examples
