// Allocating a length that came over the wire: it may be more than there is, and that must not end the
// process.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>

#include "comm/base/bytes.h"

namespace muster::socket {

inline bool TryResize(Bytes& bytes, uint64_t size) {
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {
    return false;
  }
  return true;
}

}  // namespace muster::socket
