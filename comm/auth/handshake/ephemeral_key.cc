#include "comm/auth/handshake/ephemeral_key.h"

namespace muster::auth {

const KeyPair& EphemeralKey::Get() {
  if (!pair_) pair_ = MakeKeyPair();
  return *pair_;
}

}  // namespace muster::auth
