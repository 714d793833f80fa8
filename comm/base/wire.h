// Bytes on the wire: little-endian integers of fixed width; strings and byte strings behind a u32 length.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster {

class WireWriter {
 public:
  void U8(uint8_t value) { Integer(value); }
  void U16(uint16_t value) { Integer(value); }
  void U32(uint32_t value) { Integer(value); }
  void U64(uint64_t value) { Integer(value); }
  void I32(int32_t value) { Integer(static_cast<uint32_t>(value)); }
  void I64(int64_t value) { Integer(static_cast<uint64_t>(value)); }
  void String(std::string_view text) { Blob(AsBytes(text)); }
  void Blob(ByteView bytes);  // length, then the bytes
  void Raw(ByteView bytes);   // the bytes alone

  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  template <std::unsigned_integral T>
  void Integer(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  Bytes bytes_;
};

// Reads bytes that may be malformed: a read past the end makes every later read give zero, and Finish()
// reports it. A length is checked against the remaining bytes before anything is allocated.
class WireReader {
 public:
  explicit WireReader(ByteView bytes) : rest_(bytes) {}

  uint8_t U8() { return Integer<uint8_t>(); }
  uint16_t U16() { return Integer<uint16_t>(); }
  uint32_t U32() { return Integer<uint32_t>(); }
  uint64_t U64() { return Integer<uint64_t>(); }
  int32_t I32() { return static_cast<int32_t>(Integer<uint32_t>()); }
  int64_t I64() { return static_cast<int64_t>(Integer<uint64_t>()); }
  std::string String() { return std::string(AsText(Blob())); }
  ByteView Blob();              // a view into the input
  ByteView Raw(size_t length);  // a view into the input
  // A count of items of at least `item_bytes` each; fails if that number cannot follow.
  uint32_t Count(size_t item_bytes);

  bool ok() const { return ok_; }
  // Error kInternal "malformed WHAT" unless everything was read, nothing more is left and nothing failed.
  Status Finish(std::string_view what) const;
  void MarkBad() { ok_ = false; }
  size_t remaining() const { return rest_.size(); }

 private:
  template <std::unsigned_integral T>
  T Integer() {
    const ByteView raw = Raw(sizeof(T));
    uint64_t value = 0;
    for (size_t i = 0; i < raw.size(); ++i) value |= static_cast<uint64_t>(raw[i]) << (8 * i);
    return static_cast<T>(value);
  }
  ByteView rest_;
  bool ok_ = true;
};

}  // namespace muster
