// The X25519 key pair of one side, shared by all handshakes of a listener or of a search for the root.
// ../README.md ("One key pair for several handshakes") explains why it may be shared.
//
// Used from one thread; owned by the listener or the search.
#pragma once

#include <optional>

#include "comm/auth/crypto.h"

namespace muster::auth {

class EphemeralKey {
 public:
  EphemeralKey() = default;
  EphemeralKey(const EphemeralKey&) = delete;
  EphemeralKey& operator=(const EphemeralKey&) = delete;
  ~EphemeralKey() = default;

  // Made by the first call. After CryptoReady.
  const KeyPair& Get();
  // The next Get() makes another one. Not during a handshake: its messages have the old public key.
  void Wipe() { pair_.reset(); }

 private:
  std::optional<KeyPair> pair_;
};

}  // namespace muster::auth
