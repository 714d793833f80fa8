// One input of a fuzzer against the handshake.
#pragma once

#include <vector>

#include "comm/base/bytes.h"

namespace muster::auth {

// The first byte chooses role and method; then follow messages, each behind a little-endian u16 length. True
// when the handshake gave keys away, which no input may reach.
bool HandshakeFuzzOne(ByteView input);

Bytes FuzzInput(uint8_t selector, const std::vector<Bytes>& messages);

}  // namespace muster::auth
