#include "comm/auth/sealed_channel.h"

#include <optional>
#include <utility>

namespace muster::auth {

Bytes Sealer::Seal(ByteView plaintext) { return AeadSeal(key_, next_++, plaintext); }

Result<Bytes> Opener::Open(ByteView sealed) {
  std::optional<Bytes> plaintext;
  if (!broken_) plaintext = AeadOpen(key_, next_, sealed);
  if (!plaintext) {
    broken_ = true;
    return Fail(Code::kAuthentication,
                "message {} from {} is not authentic: changed, repeated or missing on the way", next_ + 1,
                peer_);
  }
  ++next_;
  return *std::move(plaintext);
}

}  // namespace muster::auth
