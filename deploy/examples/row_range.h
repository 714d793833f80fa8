// Which rows of a data set a rank evaluates.
#pragma once

#include <algorithm>
#include <cstddef>

namespace muster::examples {

struct RowRange {
  size_t begin = 0;
  size_t end = 0;  // exclusive

  size_t size() const { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Contiguous, so that the shards in rank order are the rows in order; sizes differ by at most one, the larger
// ones first. Ranks beyond `rows` get none. `size` is at least 1, `rank` below it.
inline RowRange ShardOf(size_t rows, size_t rank, size_t size) {
  const size_t base = rows / size;
  const size_t larger = rows % size;
  const size_t begin = rank * base + std::min(rank, larger);
  return {begin, begin + base + (rank < larger ? 1 : 0)};
}

}  // namespace muster::examples
