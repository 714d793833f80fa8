// From what two ends of a handshake have exchanged to the keys they seal with.
#pragma once

#include <string>

#include "comm/auth/crypto.h"
#include "comm/auth/proof.h"
#include "comm/auth/sealed_channel.h"
#include "comm/base/bytes.h"

namespace muster::auth {

// Everything both ends have said in clear: any difference between what one sent and the other got ends the
// handshake.
Digest TranscriptHash(ByteView hello, ByteView answer);

class KeySchedule {
 public:
  // `agreed` is the X25519 result; `psk` may be empty.
  KeySchedule(const SecretKey& agreed, ByteView psk, const Digest& transcript);

  // For the rest of the handshake, and for what comes after it: keys of their own for each and each
  // direction.
  SealedChannel HandshakeChannel(Role own, const std::string& peer) const;
  SealedChannel TrafficChannel(Role own, const std::string& peer) const;

 private:
  SealedChannel Channel(std::string_view phase, Role own, const std::string& peer) const;
  SecretKey master_;
};

}  // namespace muster::auth
