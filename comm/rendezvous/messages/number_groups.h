// The bytes of a column of numbers: groups, one behind the other. All numbers are varints; those that may be negative
// are zigzag.
//
//   run      items << 2 | kRun, difference, step: first, first + step, first + 2 * step, ...
//   packed   items << 2 | kPacked, difference, span, bits: first plus a number of 0..span, each in as few bits as span needs
//   pattern  items << 2 | kPattern, parts, growth; then groups of the two other kinds for `items` numbers. The column goes on
//            with the same numbers `parts` - 1 times, larger by `growth` each time: as local ranks do, from node to node
//
// `difference`: the first number of the group, from that of the group before it. For packed numbers `first` is the least.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "comm/base/bytes.h"

namespace muster::rendezvous {

inline constexpr unsigned kGroupBits = 2;
inline constexpr uint64_t kRun = 0;
inline constexpr uint64_t kPacked = 1;
inline constexpr uint64_t kPattern = 2;

// Numbers of all parts together. A shorter pattern is malformed: its place in memory is larger than its bytes.
inline constexpr size_t kShortestPattern = 16;
// A look-up passes the groups of a pattern one by one.
inline constexpr size_t kMostGroupsOfPattern = 64;

// Small differences of either sign are small numbers.
constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// At most 10 bytes.
inline void PutNumber(Bytes& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

inline std::optional<uint64_t> TakeNumber(std::string_view& rest) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

constexpr unsigned WidthOf(uint64_t span) { return static_cast<unsigned>(std::bit_width(span)); }
constexpr size_t PackedBytes(size_t items, unsigned width) { return (items * width + 7) / 8; }

}  // namespace muster::rendezvous
