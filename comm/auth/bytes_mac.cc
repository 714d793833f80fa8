#include "comm/auth/bytes_mac.h"

#include "comm/base/wire.h"

namespace muster::auth {

BytesMac::BytesMac(ByteView group_key, std::string_view group_id)
    : key_(DeriveKey(group_key, {AsBytes("muster bytes key"), AsBytes(group_id)})) {}

Digest BytesMac::Of(const BytesOrigin& origin, ByteView bytes) const {
  WireWriter place;
  place.U8(static_cast<uint8_t>(origin.phase));
  place.U8(origin.operation);
  place.U64(origin.communicator);
  place.U64(origin.sequence);
  place.I32(origin.rank);
  return Blake2b(key_.view(), {AsBytes("muster bytes"), place.bytes(), bytes});
}

}  // namespace muster::auth
