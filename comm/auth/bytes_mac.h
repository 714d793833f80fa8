// Proves the sender of a byte string in a collective, and that it was not changed on the way: for bytes that
// are more than numbers (pickled objects), on connections that are not sealed. Keyed BLAKE2b over the
// operation, its place among the calls, the sending rank, and the bytes. Only members of the group can make
// and check it.
//
// Const functions may run on several threads. Nothing here blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/auth/crypto.h"
#include "comm/base/bytes.h"

namespace muster::auth {

// The place of some bytes among the calls of a group.
struct BytesOrigin {
  enum class Phase : uint8_t { kGather = 1, kBroadcast = 2 };
  Phase phase = Phase::kGather;
  uint8_t operation = 0;
  uint64_t communicator = 0;
  uint64_t sequence = 0;
  int32_t rank = 0;  // in the whole group
};

class BytesMac {
 public:
  BytesMac(ByteView group_key, std::string_view group_id);

  Digest Of(const BytesOrigin& origin, ByteView bytes) const;

 private:
  SecretKey key_;
};

}  // namespace muster::auth
