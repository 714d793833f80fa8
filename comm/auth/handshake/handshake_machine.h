// The common part of the two sides of the handshake: its end, and the wait for a proof that may come after
// the handshake is over. The sides are in handshake_client.cc and handshake_server.cc; the interface is
// handshake.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/auth/handshake/handshake.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/handshake/key_schedule.h"

namespace muster::auth {

class HandshakeMachine : public std::enable_shared_from_this<HandshakeMachine> {
 public:
  HandshakeMachine(Handshake::Params params, Prover& prover, EphemeralKey& key, Handshake::Send send,
                   Handshake::Done done);
  HandshakeMachine(const HandshakeMachine&) = delete;
  HandshakeMachine& operator=(const HandshakeMachine&) = delete;
  virtual ~HandshakeMachine() = default;

  void Start();
  void OnMessage(ByteView message);
  // From here on no callback is called.
  void Abandon() {
    over_ = true;
    pending_.reset();
  }
  bool waits_for_prover() const { return proving_ && !over_; }

 protected:
  // With sodium ready.
  virtual void Begin() = 0;
  // A message that is no reject and in turn.
  virtual void OnExpected(ByteView message) = 0;

  const std::string& peer() const { return params_.peer; }
  const std::string& self() const { return params_.self; }
  const Handshake::Params& params() const { return params_; }
  AuthMethod method() const { return prover_.method(); }
  ByteView psk() const { return prover_.psk(); }
  const PublicKey& public_key() { return key_.Get().public_key; }
  const Digest& transcript() const { return transcript_; }
  SealedChannel& sealed() { return *sealed_; }

  // The type of the peer's next message; none while this side is busy.
  void Expect(std::optional<MessageType> type) { expected_ = type; }
  void Transmit(Bytes message);
  // False, with the handshake over, if the peer's public key is unusable.
  [[nodiscard]] bool DeriveKeys(const PublicKey& peer_key, const Digest& transcript);

  // `next` gets this side's proof; a failure ends the handshake.
  void MakeProof(std::function<void(Bytes)> next);
  // `next` gets the verdict on the peer's proof.
  void CheckProof(ByteView proof, std::function<void(Status)> next);

  void Succeed();
  void EndAsStranger(std::string reason);
  void EndRejected(Error error, bool peer_proven = false);
  // The same, and sends the peer the reason.
  void Reject(RejectReason reason, Error error);
  void RejectAsMalformed(MessageType type);

  Error OtherVersion(uint16_t theirs) const;
  Error OtherMethod(AuthMethod theirs) const;
  // The keys of the two sides turned out different.
  Error OtherKeys() const;

 private:
  void OnReject(ByteView message);
  void Finish(HandshakeResult result);

  const Handshake::Params params_;
  Prover& prover_;
  EphemeralKey& key_;
  Handshake::Send send_;
  Handshake::Done done_;
  bool over_ = false;
  bool proving_ = false;
  Prover::Pending pending_;  // the pending request to the prover
  std::optional<MessageType> expected_;
  Bytes last_sent_;
  Digest transcript_{};
  std::optional<KeySchedule> keys_;
  std::optional<SealedChannel> sealed_;
};

std::shared_ptr<HandshakeMachine> MakeClientMachine(Handshake::Params params, Prover& prover,
                                                    EphemeralKey& key, Handshake::Send send,
                                                    Handshake::Done done);
std::shared_ptr<HandshakeMachine> MakeServerMachine(Handshake::Params params, Prover& prover,
                                                    EphemeralKey& key, Handshake::Send send,
                                                    Handshake::Done done);

}  // namespace muster::auth
