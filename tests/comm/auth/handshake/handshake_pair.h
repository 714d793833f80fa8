// A client and a server of the handshake with a wire between them that a test can tap, change and cut.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/auth/handshake/handshake.h"

namespace muster::auth {

struct HandshakeEnd {
  EphemeralKey own_key;
  std::unique_ptr<Handshake> handshake;
  std::deque<Bytes> sent;
  std::optional<HandshakeResult> result;
  int done_calls = 0;

  void Open(Role role, Prover& prover, std::string_view meeting_key, std::string peer,
            EphemeralKey* key = nullptr) {
    handshake = std::make_unique<Handshake>(
        Handshake::Params{role, MeetingIdOf(meeting_key), std::move(peer)}, prover, key ? *key : own_key,
        [this](Bytes message) { sent.push_back(std::move(message)); },
        [this](HandshakeResult given) {
          ++done_calls;
          result.emplace(std::move(given));
        });
  }
  Bytes TakeSent() {
    Bytes message = std::move(sent.front());
    sent.pop_front();
    return message;
  }
  Outcome outcome() const { return result ? result->outcome : Outcome::kInProgress; }
  std::string error() const { return result ? result->error.message : "(not ended)"; }
};

// Those of two sides, for several handshakes.
struct EndKeys {
  EphemeralKey client;
  EphemeralKey server;
};

class HandshakePair {
 public:
  // Sees each message (0 hello, 1 answer, 2 proof, 3 verdict; a reject counts where it comes) and may change
  // it.
  using Tap = std::function<void(int index, Bytes& message)>;

  HandshakePair(Prover& client_prover, Prover& server_prover, std::string_view client_meeting = "job 7",
                std::string_view server_meeting = "job 7") {
    client.Open(Role::kClient, client_prover, client_meeting, "root:61001");
    server.Open(Role::kServer, server_prover, server_meeting, "gpu02:40000");
  }

  HandshakePair(Prover& prover, EndKeys& keys) {
    client.Open(Role::kClient, prover, "job 7", "root:61001", &keys.client);
    server.Open(Role::kServer, prover, "job 7", "gpu02:40000", &keys.server);
  }

  void Run(const Tap& tap = {}) {
    server.handshake->Start();
    client.handshake->Start();
    Pump(tap);
  }

  void Pump(const Tap& tap = {}) {
    while (!client.sent.empty() || !server.sent.empty()) {
      const bool from_client = !client.sent.empty();
      Bytes message = from_client ? client.TakeSent() : server.TakeSent();
      if (tap) tap(static_cast<int>(seen.size()), message);
      seen.push_back(message);
      (from_client ? server : client).handshake->OnMessage(message);
    }
  }

  HandshakeEnd client;
  HandshakeEnd server;
  std::vector<Bytes> seen;
};

}  // namespace muster::auth
