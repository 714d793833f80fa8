// Cutting long data into what fits into a slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/socket/shm/segment.h"

namespace muster::socket {

// The largest piece of which `parts` fit into a slot; whole cache lines, so that no element is cut.
inline size_t PieceBytes(size_t slot_bytes, int parts) {
  return slot_bytes / static_cast<size_t>(std::max(parts, 1)) / kCacheLine * kCacheLine;
}

// [offset, offset + width) as far as it is inside.
template <typename Byte>
std::span<Byte> Within(std::span<Byte> data, size_t offset, size_t width) {
  const size_t begin = std::min(offset, data.size());
  return data.subspan(begin, std::min(width, data.size() - begin));
}

}  // namespace muster::socket
