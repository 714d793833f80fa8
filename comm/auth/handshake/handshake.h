// The authenticated hello: two ends of a connection prove their identity to each other and derive keys, or
// close it. Mutual, bound to meeting, roles, method, protocol version, both nonces and both public keys.
// README.md draws it and explains its guarantees.
//
// Sans-IO: the caller frames the messages (each at most kMaxHandshakeMessage bytes; refuse a longer frame
// before reading it), carries them, and holds the deadline: destroying the Handshake abandons it. Used from
// one thread; nothing here blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/auth/handshake/ephemeral_key.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/proof.h"
#include "comm/auth/sealed_channel.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::auth {

class HandshakeMachine;

inline constexpr size_t kMaxHandshakeMessage = kMaxProofBytes + 256;

enum class Outcome {
  kInProgress,
  kDone,      // the peer is proven; `channel` is set
  kStranger,  // foreign: another launch's muster, or no muster at all. Not an error during the search of a
              // ladder
  kRejected,  // it claims to be of this launch, but the two do not agree, or it cannot prove it
};

struct HandshakeResult {
  Outcome outcome = Outcome::kInProgress;
  std::string reason;  // kStranger: "198.18.0.3:61001 is not a muster peer"
  Error error;         // kRejected
  // The peer had proven itself before it refused us: it *is* the right one, so a retry is useless. If this is
  // false, the rejection may come from any process: a ladder client keeps it as the reason and goes on
  // searching.
  bool peer_proven = false;
  std::optional<SealedChannel> channel;  // kDone
};

class Handshake {
 public:
  struct Params {
    Role role = Role::kClient;
    MeetingId meeting{};             // MeetingIdOf(the meeting key)
    std::string peer;                // for messages: "198.18.0.3:61001"
    std::string self = "this rank";  // for messages that other ranks' users read as well: "rank 0 on gpu01"
    std::string source{};            // the peer's host: the source that has its turn if proofs have to wait
  };
  using Send = std::function<void(Bytes)>;
  using Done = std::function<void(HandshakeResult)>;

  // `prover` and `key` must outlive the handshake. `send` gets each message to send, in order; messages before `done`
  // must still be delivered, also with kRejected (they have the reason for the peer). `done` is called
  // exactly once. Both may be called from within Start, OnMessage or the prover's answer, and may destroy the
  // Handshake; neither is called after its destruction. `send` must not deliver the peer's next message
  // before it returns: it queues.
  Handshake(Params params, Prover& prover, EphemeralKey& key, Send send, Done done);
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;
  ~Handshake();

  // Call once, first, on both sides. The client sends its hello.
  void Start();
  // One whole message of the peer. After `done` the messages are the channel's; here they would be ignored.
  void OnMessage(ByteView message);

  // This side's own proof, or its verdict on the peer's, is awaited. If that takes too long, the fault is
  // here (a munged that hangs), not the peer's.
  bool WaitsForProver() const;

 private:
  std::shared_ptr<HandshakeMachine> machine_;  // shared only with a call in progress
};

}  // namespace muster::auth
