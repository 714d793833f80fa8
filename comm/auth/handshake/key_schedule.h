// Derives the keys that two ends of a handshake seal with, from their exchanged messages.
#pragma once

#include <string>

#include "comm/auth/crypto.h"
#include "comm/auth/proof.h"
#include "comm/auth/sealed_channel.h"
#include "comm/base/bytes.h"

namespace muster::auth {

// All messages that both ends have sent in clear: any difference between the sent and the received ones ends
// the handshake.
Digest TranscriptHash(ByteView hello, ByteView answer);

class KeySchedule {
 public:
  // `agreed` is the X25519 result; `psk` may be empty.
  KeySchedule(const SecretKey& agreed, ByteView psk, const Digest& transcript);

  // For the remainder of the handshake, and for the time after it: separate keys for each, and for each
  // direction.
  SealedChannel HandshakeChannel(Role own, const std::string& peer) const;
  SealedChannel TrafficChannel(Role own, const std::string& peer) const;

 private:
  SealedChannel Channel(std::string_view phase, Role own, const std::string& peer) const;
  SecretKey master_;
};

}  // namespace muster::auth
