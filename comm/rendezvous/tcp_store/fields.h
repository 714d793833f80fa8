// The fields of the protocol's messages: appends them to bytes, and reads those of a message that may be
// incomplete. Integers are little-endian; a text is a u64 length and that number of bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::tcp_store {

// The protocol has the host's byte order: between two kinds of hosts it does not work, PyTorch's included.
static_assert(std::endian::native == std::endian::little);

template <typename T>
void PutInteger(T value, Bytes& out) {
  const size_t end = out.size();
  out.resize(end + sizeof value);
  std::memcpy(out.data() + end, &value, sizeof value);
}

inline void PutText(std::string_view text, Bytes& out) {
  PutInteger<uint64_t>(text.size(), out);
  out.insert(out.end(), text.begin(), text.end());
}

class FieldScanner {
 public:
  struct Place {
    size_t start = 0;
    size_t length = 0;
    std::string_view In(ByteView input) const { return AsText(input.subspan(start, length)); }
  };

  // False: incomplete; try again with more input.
  template <typename T>
  bool Integer(ByteView input, T& value) {
    if (input.size() - position_ < sizeof value) return false;
    std::memcpy(&value, input.data() + position_, sizeof value);
    position_ += sizeof value;
    return true;
  }

  // Error: kDisagreement if it is longer than `limit`; `what` names it.
  Result<bool> Text(ByteView input, uint64_t limit, std::string_view what, Place& place) {
    const size_t start = position_;
    uint64_t length = 0;
    if (!Integer(input, length)) return false;
    if (length > limit) {
      return Fail(Code::kDisagreement, "a {} of {} bytes is longer than the {} that are allowed", what,
                  length, limit);
    }
    if (input.size() - position_ < length) {
      position_ = start;
      return false;
    }
    place = {position_, static_cast<size_t>(length)};
    position_ += place.length;
    return true;
  }

  size_t position() const { return position_; }
  void Restart() { position_ = 0; }

 private:
  size_t position_ = 0;
};

}  // namespace muster::tcp_store
