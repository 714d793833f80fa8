// Buffers of small whole numbers in any element type, to check whether a collective moved and reduced them
// right. f16 and bf16 hold whole numbers up to 256 exactly.
#pragma once

#include "comm/base/bytes.h"
#include "comm/communicator.h"
#include "comm/data_type.h"

namespace muster::check {

class Elements {
 public:
  Elements(DataType type, size_t count) : type_(type), bytes_(count * SizeOf(type)) {}

  size_t count() const { return bytes_.size() / SizeOf(type_); }
  void Set(size_t index, int64_t value);
  double Get(size_t index) const;
  Buffer buffer() { return {bytes_.data(), count(), type_, Memory::kHost}; }

 private:
  DataType type_;
  Bytes bytes_;
};

}  // namespace muster::check
