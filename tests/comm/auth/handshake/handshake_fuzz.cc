#include "tests/comm/auth/handshake/handshake_fuzz.h"

#include <algorithm>
#include <memory>

#include "comm/auth/handshake/handshake.h"
#include "tests/comm/auth/ticket_prover.h"

namespace muster::auth {
namespace {

std::unique_ptr<Prover> ProverFor(uint8_t selector) {
  switch (selector % 3) {
    case 0:
      return MakeNoneProver();
    case 1:
      return MakeSecretProver(*JobSecret::Generate());
    default:
      return std::make_unique<TicketProver>();
  }
}

}  // namespace

bool HandshakeFuzzOne(ByteView input) {
  if (input.empty()) return false;
  const std::unique_ptr<Prover> prover = ProverFor(input[0]);
  const Role role = input[0] / 3 % 2 == 0 ? Role::kServer : Role::kClient;
  Outcome outcome = Outcome::kInProgress;
  EphemeralKey key;
  Handshake handshake(
      {role, MeetingIdOf("job 7"), "peer"}, *prover, key, [](const Bytes&) {},
      [&outcome](const HandshakeResult& result) { outcome = result.outcome; });
  handshake.Start();
  for (ByteView rest = input.subspan(1); rest.size() >= 2;) {
    const size_t length = std::min<size_t>(rest[0] + 256U * rest[1], rest.size() - 2);
    handshake.OnMessage(rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  return outcome == Outcome::kDone;
}

Bytes FuzzInput(uint8_t selector, const std::vector<Bytes>& messages) {
  Bytes input{selector};
  for (const Bytes& message : messages) {
    input.push_back(static_cast<uint8_t>(message.size()));
    input.push_back(static_cast<uint8_t>(message.size() >> 8));
    input.insert(input.end(), message.begin(), message.end());
  }
  return input;
}

}  // namespace muster::auth
