// A part of bytes that never change and that all copies own together: copying a Slice copies no bytes. The
// data of 2048 other ranks comes in one message and stays there.
//
// Threads: as a std::shared_ptr; different copies may be used by different threads. Nothing here blocks.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "comm/base/bytes.h"

namespace muster {

class Slice {
 public:
  Slice() = default;
  Slice(Bytes bytes)  // NOLINT(google-explicit-constructor): the same bytes, kept otherwise
      : owner_(std::make_shared<const Bytes>(std::move(bytes))), part_(*owner_) {}
  Slice(std::initializer_list<uint8_t> bytes) : Slice(Bytes(bytes)) {}
  // `part` must be within `*owner`.
  Slice(std::shared_ptr<const Bytes> owner, ByteView part) : owner_(std::move(owner)), part_(part) {}

  // Valid as long as this or a copy of it.
  ByteView view() const { return part_; }
  size_t size() const { return part_.size(); }
  bool empty() const { return part_.empty(); }

  friend bool operator==(const Slice& a, const Slice& b) { return std::ranges::equal(a.part_, b.part_); }

 private:
  std::shared_ptr<const Bytes> owner_;
  ByteView part_;
};

}  // namespace muster
