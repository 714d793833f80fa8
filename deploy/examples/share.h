// A rank's part of the result, as it travels to rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/roster.h"
#include "deploy/examples/row_range.h"

namespace muster::examples {

// The first row (u64), then one label a row behind their number (u32).
Bytes EncodeShare(size_t first_row, std::span<const uint8_t> predictions);

struct Assembled {
  std::vector<uint8_t> predictions;  // index = row
  std::vector<RowRange> shares;      // index = rank
};

// `parts` by rank. Error: kInternal for malformed bytes, kDisagreement if the shares are not the rows 0 to
// rows-1 in rank order; both name the rank.
Result<Assembled> AssembleShares(const Roster& roster, size_t rows, const std::vector<Bytes>& parts);

}  // namespace muster::examples
