#include "comm/auth/handshake/key_schedule.h"

#include <string_view>

namespace muster::auth {
namespace {

SecretKey SenderKey(const SecretKey& master, std::string_view phase, Role sender) {
  const std::string_view name = sender == Role::kClient ? "from the client" : "from the server";
  return DeriveKey(master.view(), {AsBytes("muster channel"), AsBytes(phase), AsBytes(name)});
}

}  // namespace

Digest TranscriptHash(ByteView hello, ByteView answer) {
  return Blake2b({}, {AsBytes("muster transcript"), hello, answer});
}

KeySchedule::KeySchedule(const SecretKey& agreed, ByteView psk, const Digest& transcript)
    : master_(DeriveKey(agreed.view(), {AsBytes("muster master"), psk, transcript})) {}

SealedChannel KeySchedule::HandshakeChannel(Role own, const std::string& peer) const {
  return Channel("handshake", own, peer);
}

SealedChannel KeySchedule::TrafficChannel(Role own, const std::string& peer) const {
  return Channel("traffic", own, peer);
}

SealedChannel KeySchedule::Channel(std::string_view phase, Role own, const std::string& peer) const {
  const Role other = own == Role::kClient ? Role::kServer : Role::kClient;
  return {Sealer(SenderKey(master_, phase, own)), Opener(SenderKey(master_, phase, other), peer)};
}

}  // namespace muster::auth
