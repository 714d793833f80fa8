// One direction of a connection after the handshake: each message is sealed (ChaCha20-Poly1305, RFC 8439)
// under a key of its direction, with the message's number as the nonce. So a message that is changed,
// repeated, left out, moved or sent back does not open.
//
// Not thread-safe; a Sealer and an Opener are independent of each other and may be used on different threads.
// Nothing blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "comm/auth/crypto.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::auth {

// Never copied: two with one key would use a nonce twice.
class Sealer {
 public:
  explicit Sealer(const SecretKey& key) : key_(key) {}
  Sealer(Sealer&&) = default;
  Sealer& operator=(Sealer&&) = default;
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;
  ~Sealer() = default;

  // At 64 bits the message numbers outlast any connection.
  Bytes Seal(ByteView plaintext);

 private:
  SecretKey key_;
  uint64_t next_ = 0;
};

class Opener {
 public:
  // `peer` is for messages only: "198.18.0.3:61001".
  Opener(const SecretKey& key, std::string peer) : key_(key), peer_(std::move(peer)) {}
  Opener(Opener&&) = default;
  Opener& operator=(Opener&&) = default;
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;
  ~Opener() = default;

  // The messages must come in the order they were sealed in. Error: kAuthentication, names the peer; from
  // then on every call fails: the connection is unusable.
  Result<Bytes> Open(ByteView sealed);

 private:
  SecretKey key_;
  std::string peer_;
  uint64_t next_ = 0;
  bool broken_ = false;
};

// Both directions, as one end holds them.
struct SealedChannel {
  Sealer sealer;
  Opener opener;
};

}  // namespace muster::auth
