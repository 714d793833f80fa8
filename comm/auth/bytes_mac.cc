#include "comm/auth/bytes_mac.h"

#include "comm/base/fields.h"

namespace muster::auth {

BytesMac::BytesMac(ByteView group_key, std::string_view group_id)
    : key_(DeriveKey(group_key, {AsBytes("muster bytes key"), AsBytes(group_id)})) {}

Digest BytesMac::Of(const BytesOrigin& origin, ByteView bytes) const {
  const Bytes place =
      EncodeFields(origin.phase, origin.operation, origin.communicator, origin.sequence, origin.rank);
  return Blake2b(key_.view(), {AsBytes("muster bytes"), place, bytes});
}

}  // namespace muster::auth
