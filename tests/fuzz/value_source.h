// Reads an input as a list of choices and values, so that mutations of plain bytes become structured ones.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>

#include "comm/base/bytes.h"

namespace muster::fuzz {

// An exhausted source gives zeros and empty strings: every input is a whole one.
class ValueSource {
 public:
  explicit ValueSource(ByteView input) : rest_(input) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() { return Integer<uint8_t>(); }
  bool Flag() { return (Byte() & 1) != 0; }
  // 0..count-1.
  size_t Below(size_t count) { return Byte() % count; }

  template <std::integral T>
  T Integer() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T) && !rest_.empty(); ++i, rest_ = rest_.subspan(1)) {
      value |= static_cast<uint64_t>(rest_[0]) << (8 * i);
    }
    return static_cast<T>(value);
  }

  // Mostly the small numbers that ranks and counts are, sometimes any.
  int Number() {
    const uint8_t byte = Byte();
    return byte < 250 ? byte % 16 - 2 : Integer<int32_t>();
  }

  // A length byte, then as many bytes.
  ByteView Blob() { return Take(Byte()); }
  std::string Text() { return std::string(AsText(Blob())); }
  ByteView Take(size_t length) {
    const ByteView taken = rest_.first(std::min(length, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  template <size_t kSize>
  std::array<uint8_t, kSize> Array() {
    std::array<uint8_t, kSize> array{};
    std::ranges::copy(Take(kSize), array.begin());
    return array;
  }
  ByteView Rest() { return Take(rest_.size()); }

 private:
  ByteView rest_;
};

}  // namespace muster::fuzz
